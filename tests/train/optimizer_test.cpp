#include "train/optimizer.h"

#include <gtest/gtest.h>

#include <cmath>

#include "core/safetensors.h"
#include "support/text_folder.h"
#include "train/adam.h"
#include "train/schedule.h"
#include "train/sgd.h"

namespace lookback {
namespace {

/// One parameter with three elements, and a gradient of it for each step.
struct Toy {
  std::vector<Module::Named> parameters{{"w", Variable(Tensor::from({3}, {1, -2, 0.5}), true), {}}};
  std::span<const Real> values() const { return parameters[0].variable.value().values(); }
  static ParameterGradients gradient(int step) {
    ParameterGradients out;
    out.tensors.push_back(Tensor::from({3}, {Real(0.1) * step, Real(-0.3), Real(0.2) / step}));
    return out;
  }
};

/// The rule as the paper writes it, in double.
std::vector<double> adam_by_hand(int steps, double rate, double factor, double decay,
                                 bool decoupled) {
  std::vector<double> w{1, -2, 0.5}, m(3), v(3);
  for (int t = 1; t <= steps; ++t)
    for (size_t i = 0; i < 3; ++i) {
      double g = Toy::gradient(t).tensors[0].data()[i] * factor;
      if (decoupled)
        w[i] -= rate * decay * w[i];
      else
        g += decay * w[i];
      m[i] = 0.9 * m[i] + 0.1 * g;
      v[i] = 0.999 * v[i] + 0.001 * g * g;
      w[i] -= rate * (m[i] / (1 - std::pow(0.9, t))) /
              (std::sqrt(v[i] / (1 - std::pow(0.999, t))) + 1e-8);
    }
  return w;
}

TEST(Optimizer, adam_follows_its_paper) {
  for (bool decoupled : {false, true})
    for (double decay : {0.0, 0.1}) {
      Toy toy;
      Adam adam({.weight_decay = decay, .decoupled = decoupled}, toy.parameters);
      for (int t = 1; t <= 20; ++t) adam.step(Toy::gradient(t), 0.05, 0.7);
      std::vector<double> expected = adam_by_hand(20, 0.05, 0.7, decay, decoupled);
      for (size_t i = 0; i < 3; ++i)
        EXPECT_NEAR(toy.values()[i], expected[i], 2e-5) << decay << decoupled;
    }
}

TEST(Optimizer, sgd_with_momentum_follows_its_rule) {
  Toy toy;
  Sgd sgd({.momentum = 0.9, .weight_decay = 0.01}, toy.parameters);
  std::vector<double> w{1, -2, 0.5}, b(3);
  for (int t = 1; t <= 10; ++t) {
    sgd.step(Toy::gradient(t), 0.1, 0.5);
    for (size_t i = 0; i < 3; ++i) {
      b[i] = 0.9 * b[i] + 0.5 * Toy::gradient(t).tensors[0].data()[i] + 0.01 * w[i];
      w[i] -= 0.1 * b[i];
    }
  }
  for (size_t i = 0; i < 3; ++i) EXPECT_NEAR(toy.values()[i], w[i], 1e-5);
}

TEST(Optimizer, a_parameter_without_gradient_does_not_move) {
  Toy toy;
  ParameterGradients none;
  none.tensors.emplace_back();
  Adam({.weight_decay = 0.1}, toy.parameters).step(none, 0.1, 1);
  Sgd({.momentum = 0.9, .weight_decay = 0.1}, toy.parameters).step(none, 0.1, 1);
  EXPECT_EQ(toy.values()[0], 1);
}

TEST(Optimizer, state_carries_over) {
  TextFolder folder;
  for (std::string type : {"adam", "sgd"}) {
    Config config = Config::from_text(type == "sgd" ? "{momentum: 0.9}" : "{}", "o"), resolved;
    Section section(config, resolved);
    OptimizerPlan plan = optimizers().get(type)(section);
    Toy whole, broken;
    auto a = plan.make(whole.parameters), b = plan.make(broken.parameters);
    for (int t = 1; t <= 6; ++t) a->step(Toy::gradient(t), 0.1, 1);
    for (int t = 1; t <= 3; ++t) b->step(Toy::gradient(t), 0.1, 1);
    save_tensors(folder.path("state"), b->state(), {});
    auto c = plan.make(broken.parameters);
    c->load(load_tensors(folder.path("state")));
    for (int t = 4; t <= 6; ++t) c->step(Toy::gradient(t), 0.1, 1);
    for (size_t i = 0; i < 3; ++i) EXPECT_EQ(whole.values()[i], broken.values()[i]) << type;
  }
}

Schedule schedule(const std::string& name, const std::string& yaml, int64_t total) {
  Config config = Config::from_text(yaml, "s"), resolved;
  Section section(config, resolved);
  Schedule out = schedules().get(name)(section)(total);
  refuse_unknown(config, resolved);
  return out;
}

TEST(Schedule, rates_are_as_written) {
  Schedule flat = schedule("constant", "{warmup: 4}", 100);
  EXPECT_DOUBLE_EQ(flat(1), 0.25);
  EXPECT_DOUBLE_EQ(flat(4), 1);
  EXPECT_DOUBLE_EQ(flat(99), 1);
  EXPECT_DOUBLE_EQ(schedule("constant", "{}", 10)(1), 1);

  Schedule fall = schedule("linear_decay", "{warmup: 10, decay: 0.4, floor: 0.02}", 100);
  EXPECT_DOUBLE_EQ(fall(5), 0.5);
  EXPECT_DOUBLE_EQ(fall(60), 1);
  EXPECT_NEAR(fall(80), 0.51, 1e-12);
  EXPECT_NEAR(fall(100), 0.02, 1e-12);

  Schedule cosine = schedule("cosine", "{warmup: 10, floor: 0.1}", 110);
  EXPECT_DOUBLE_EQ(cosine(5), 0.5);
  EXPECT_NEAR(cosine(60), 0.55, 1e-12);
  EXPECT_NEAR(cosine(110), 0.1, 1e-12);

  Schedule root = schedule("inverse_sqrt", "{warmup: 100}", 1000);
  EXPECT_DOUBLE_EQ(root(50), 0.5);
  EXPECT_DOUBLE_EQ(root(400), 0.5);

  Schedule noam = schedule("noam", "{warmup: 4000, width: 512}", 100000);
  EXPECT_NEAR(noam(4000), 1 / std::sqrt(512.0 * 4000), 1e-12);
  EXPECT_NEAR(noam(16000), noam(4000) / 2, 1e-12);
}

}  // namespace
}  // namespace lookback
