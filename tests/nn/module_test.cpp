#include "nn/module.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "nn/embedding.h"
#include "nn/linear.h"
#include "nn/recurrent.h"
#include "support/error_text.h"

namespace lookback {
namespace {

using testing::error_text;

std::vector<std::string> names(const Module& module) {
  std::vector<std::string> out;
  for (const Module::Named& p : module.parameters()) out.push_back(p.name);
  return out;
}

struct Pair : Module {
  explicit Pair(bool with_more = false)
      : first({.inputs = 3, .outputs = 2}), second({.inputs = 2, .outputs = 4, .bias = false}) {
    if (with_more) more = parameter("more", {5}, normal(1));
    scale = parameter("scale", {2}, constant(0.25));
    child("first", first);
    child("second", second);
  }
  Linear first, second;
  Variable scale, more;
};

TEST(Module, ParametersStandInOrderOfRegistrationUnderDottedNames) {
  EXPECT_EQ(names(Pair()),
            (std::vector<std::string>{"scale", "first.weight", "first.bias", "second.weight"}));
  EXPECT_EQ(Pair().parameter_count(), 2 + 6 + 2 + 8);
}

TEST(Module, RecurrentLayersAreNamedAsInPyTorch) {
  Recurrent two({.cell = "gru", .input = 3, .hidden = 4, .layers = 2, .bidirectional = true});
  EXPECT_EQ(names(two),
            (std::vector<std::string>{
                "weight_ih_l0", "weight_hh_l0", "bias_ih_l0", "bias_hh_l0", "weight_ih_l0_reverse",
                "weight_hh_l0_reverse", "bias_ih_l0_reverse", "bias_hh_l0_reverse", "weight_ih_l1",
                "weight_hh_l1", "bias_ih_l1", "bias_hh_l1", "weight_ih_l1_reverse",
                "weight_hh_l1_reverse", "bias_ih_l1_reverse", "bias_hh_l1_reverse"}));
  EXPECT_EQ(two.parameters()[0].variable.shape(), Shape({12, 3}));
  EXPECT_EQ(two.parameters()[8].variable.shape(), Shape({12, 8}));
}

TEST(Module, ParametersAreTheLayersOwnLeaves) {
  Linear layer({.inputs = 2, .outputs = 1});
  for (Module::Named& p : layer.parameters()) {
    EXPECT_TRUE(p.variable.requires_grad());
    p.variable.leaf_value().fill(3);
  }
  EXPECT_EQ(layer(Variable(Tensor::full({1, 2}, 1))).item(), 9);
}

TEST(Module, InitialValuesAreAFunctionOfSeedAndName) {
  Pair one, other, more(true);
  one.initialize(5);
  other.initialize(5);
  more.initialize(5);
  for (const Module* again : {static_cast<Module*>(&other), static_cast<Module*>(&more)}) {
    std::map<std::string, Variable> values;
    for (const Module::Named& p : again->parameters()) values[p.name] = p.variable;
    for (const Module::Named& p : one.parameters())
      for (int64_t i = 0; i < p.variable.count(); ++i)
        ASSERT_EQ(p.variable.value().data()[i], values[p.name].value().data()[i]) << p.name;
  }
  other.initialize(6);
  EXPECT_NE(one.first.weight().value().data()[0], other.first.weight().value().data()[0]);
  EXPECT_EQ(other.scale.value().data()[0], Real{0.25});
  // Two parameters of one shape but different names do not start alike.
  Recurrent two({.cell = "rnn", .input = 4, .hidden = 4});
  two.initialize(1);
  EXPECT_NE(two.parameters()[0].variable.value().data()[0],
            two.parameters()[1].variable.value().data()[0]);
}

TEST(Module, DrawsFollowTheirInitializers) {
  Linear layer({.inputs = 25, .outputs = 400});
  layer.initialize(1);
  double largest = 0, sum = 0;
  for (Real value : layer.weight().value().values()) {
    largest = std::max(largest, std::abs(static_cast<double>(value)));
    sum += value;
  }
  EXPECT_LE(largest, 0.2);
  EXPECT_GT(largest, 0.199);
  EXPECT_NEAR(sum / 10000, 0, 5 * 0.2 / std::sqrt(3.0) / 100);
  Embedding table({.words = 100, .size = 100});
  table.initialize(1);
  double square = 0;
  for (Real value : table.parameters()[0].variable.value().values()) square += value * value;
  EXPECT_NEAR(square / 10000, 1, 5 * std::sqrt(2.0) / 100);
}

TEST(Module, TwoParametersOfOneNameAreRefused) {
  struct Twice : Module {
    Twice() : a({.inputs = 1, .outputs = 1}), b({.inputs = 1, .outputs = 1}) {
      child("part", a);
      child("part", b);
    }
    Linear a, b;
  };
  EXPECT_EQ(error_text([] { Twice().parameters(); }),
            "[module] two parameters are called \"part.weight\"");
}

TEST(Module, LayersRefuseImpossibleSizes) {
  EXPECT_EQ(error_text([] { Linear({.inputs = 0, .outputs = 3}); }),
            "[linear] needs at least one input and one output, not 0 and 3");
  EXPECT_EQ(error_text([] { Embedding({.words = 4, .size = 0}); }),
            "[embedding] needs at least one word and one unit, not 4 and 0");
  EXPECT_EQ(error_text([] { Recurrent({.cell = "gru", .input = 0, .hidden = 2}); }),
            "[cell] needs at least one input and one unit, not 0 and 2");
  EXPECT_EQ(error_text([] { Recurrent({.cell = "gru", .input = 1, .hidden = 2, .layers = 0}); }),
            "[recurrent] needs at least one layer, not 0");
}

TEST(Drop, IsActiveInTrainingAloneAndDependsOnItsSite) {
  Variable x = Tensor::full({4, 50}, 1);
  Pass pass{.training = true, .key = {.seed = 3, .step = 7, .index = 10}};
  auto zeros = [&](const Pass& p, const std::string& site) {
    std::vector<bool> out;
    for (Real value : drop(x, 0.4, p, site).value().values()) {
      EXPECT_TRUE(value == 0 || std::abs(value - 1 / 0.6) < 1e-6);
      out.push_back(value == 0);
    }
    return out;
  };
  std::vector<bool> dropped = zeros(pass, "a");
  EXPECT_NEAR(std::count(dropped.begin(), dropped.end(), true), 80, 5 * std::sqrt(200 * 0.24));
  EXPECT_EQ(dropped, zeros(pass, "a"));
  EXPECT_NE(dropped, zeros(pass, "b"));
  Pass later = pass, evaluating = pass;
  later.key.step = 8;
  EXPECT_NE(dropped, zeros(later, "a"));
  evaluating.training = false;
  EXPECT_EQ(drop(x, 0.4, evaluating, "a").value().data(), x.value().data());
  // Sentence 12 of the run drops the same whether its batch begins at 10 or at 12.
  Pass from_third = pass;
  from_third.key.index = 12;
  std::vector<bool> tail = zeros(from_third, "a");
  EXPECT_TRUE(std::equal(dropped.begin() + 100, dropped.end(), tail.begin()));
}

}  // namespace
}  // namespace lookback
