#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "autograd/ops.h"
#include "core/error.h"
#include "support/random_tensor.h"

namespace lookback::testing {

/// What linear_cross_entropy() stands for, as single ops.
inline TokenLoss composed_loss(const LinearLogits& in, const IdMatrix& targets,
                               const CrossEntropyOptions& options) {
  Variable logits = linear(in.x, in.weight, in.bias);
  if (in.base.defined()) logits = logits + reshape(in.base, {in.base.size(0), 1, in.base.size(1)});
  CrossEntropyOptions plain = options;
  plain.label_smoothing = 0;
  return {cross_entropy(logits, targets, options), cross_entropy(logits, targets, plain).detach()};
}

struct LossCase {
  int64_t B = 3, T = 5, F = 4, V = 7;
  bool bias = true, base = false;
  double smoothing = 0;
  double ignored = 0.3;            ///< share of the targets
  double upstream = 1;             ///< gradient of the loss
  std::vector<int> constant = {};  ///< which of x, weight, bias, base need no gradient

  std::string text() const {
    return format(
        "B={} T={} F={} V={} bias={} base={} smoothing={} ignored={} upstream={} constant={}", B, T,
        F, V, bias, base, smoothing, ignored, upstream, constant.size());
  }
  bool is_constant(int i) const {
    return std::find(constant.begin(), constant.end(), i) != constant.end();
  }
  LinearLogits logits(double size = 1) const {
    auto input = [&](int i, const Shape& shape) {
      return Variable(random_tensor(shape, static_cast<uint64_t>(i) + 1, -size, size),
                      !is_constant(i));
    };
    return {.x = input(0, {B, T, F}),
            .weight = input(1, {V, F}),
            .bias = bias ? input(2, {V}) : Variable(),
            .base = base ? input(3, {B, V}) : Variable()};
  }
  /// Id 1 is ignored.
  IdMatrix targets() const {
    IdMatrix out(B, T, 0);
    Random random({.seed = 5, .purpose = purpose("targets")});
    for (Id& id : out.values)
      id = random.uniform() < ignored ? 1 : static_cast<Id>(2 + random.below(V - 2));
    return out;
  }
  CrossEntropyOptions options() const {
    return {.ignore = 1, .divide_by = 2.5, .label_smoothing = smoothing};
  }
};

struct LossOutcome {
  double loss = 0, nll = 0;
  std::vector<Tensor> gradients;  ///< of x, weight, bias, base; undefined where there is none
};

template <class Op>
LossOutcome loss_outcome(Op&& op, const LossCase& c, const LinearLogits& in) {
  TokenLoss got = op(in, c.targets(), c.options());
  EXPECT_FALSE(got.nll.requires_grad());
  LossOutcome out{double{got.loss.item()}, double{got.nll.item()}, {}};
  Gradients gradients = backward(got.loss, Tensor::scalar(static_cast<Real>(c.upstream)));
  for (const Variable& input : {in.x, in.weight, in.bias, in.base})
    out.gradients.push_back(input.defined() && input.requires_grad() ? gradients.of(input)
                                                                     : Tensor());
  return out;
}

/// Relatively to the largest element, or to 1.
inline void expect_near(const LossOutcome& got, const LossOutcome& expected, double tolerance) {
  auto near = [&](double a, double b) {
    EXPECT_NEAR(a, b, tolerance * std::max(1.0, std::abs(b)));
  };
  near(got.loss, expected.loss);
  near(got.nll, expected.nll);
  for (size_t i = 0; i < expected.gradients.size(); ++i) {
    const Tensor &a = got.gradients[i], &b = expected.gradients[i];
    ASSERT_EQ(a.defined(), b.defined()) << "input " << i;
    if (!a.defined()) continue;
    ASSERT_EQ(a.shape(), b.shape()) << "input " << i;
    double size = 1;
    for (Real value : b.values()) size = std::max(size, std::abs(double{value}));
    for (int64_t j = 0; j < a.count(); ++j)
      ASSERT_NEAR(a.data()[j], b.data()[j], tolerance * size) << "input " << i << " at " << j;
  }
}

/// The op against its single ops: one block of rows and several, sentences cut between blocks, one
/// row a block; with and without bias, base, smoothing and ignored targets; an upstream gradient of
/// 1 and another; some of the inputs constant.
inline void expect_equal_to_composed(double tolerance) {
  std::vector<LossCase> cases;
  for (bool bias : {false, true})
    for (bool base : {false, true})
      for (double smoothing : {0.0, 0.2})
        for (double upstream : {1.0, -0.7}) {
          LossCase c{.bias = bias, .base = base, .smoothing = smoothing, .upstream = upstream};
          cases.push_back(c);
          c.ignored = 0;
          cases.push_back(c);
          c = {.B = 3,
               .T = 21,
               .V = 40'000,
               .bias = bias,
               .base = base,
               .smoothing = smoothing,
               .upstream = upstream};
          cases.push_back(c);
        }
  cases.push_back({.B = 2, .T = 2, .F = 2, .V = 530'000, .base = true, .smoothing = 0.1});
  for (std::vector<int> constant : {std::vector{0}, {1}, {2}, {3}, {0, 2}, {1, 3}, {0, 1, 2}})
    cases.push_back({.base = true, .smoothing = 0.1, .constant = constant});
  for (const LossCase& c : cases) {
    SCOPED_TRACE(c.text());
    LinearLogits in = c.logits();
    expect_near(loss_outcome(linear_cross_entropy, c, in), loss_outcome(composed_loss, c, in),
                tolerance);
  }
}

}  // namespace lookback::testing
