#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "core/allocator.h"
#include "core/gemm.h"
#include "core/threads.h"
#include "support/composed_loss.h"
#include "support/error_text.h"

namespace lookback {
namespace {

using testing::composed_loss;
using testing::error_text;
using testing::loss_outcome;
using testing::LossCase;
using testing::LossOutcome;

constexpr Real kNan = std::numeric_limits<Real>::quiet_NaN();

/// Several blocks of rows.
const LossCase kLarge{.B = 8, .T = 100, .F = 16, .V = 8000, .base = true, .smoothing = 0.1};

bool all_zero(const Tensor& x) {
  return std::ranges::all_of(x.values(), [](Real value) { return value == 0; });
}

TEST(LinearCrossEntropy, EqualsItsSingleOps) {
  testing::expect_equal_to_composed(1e-5);
}

TEST(LinearCrossEntropy, LogitsOfAnySize) {
  LossCase c{.base = true, .smoothing = 0.1};
  LinearLogits in = c.logits(100);
  testing::expect_near(loss_outcome(testing::composed_loss, c, in),
                       loss_outcome(linear_cross_entropy, c, in), 1e-5);
}

TEST(LinearCrossEntropy, NeverHoldsTheLogitsOfAllRows) {
  LinearLogits in = kLarge.logits();
  const uint64_t logits = static_cast<uint64_t>(kLarge.B * kLarge.T * kLarge.V) * sizeof(Real);
  auto peak = [&](auto&& op) {
    uint64_t before = memory_counts().in_use_bytes;
    reset_memory_peak();
    loss_outcome(op, kLarge, in);
    return memory_counts().peak_bytes - before;
  };
  EXPECT_GT(peak(composed_loss), 2 * logits);
  EXPECT_LT(peak(linear_cross_entropy), logits * 3 / 4);
  NoGrad no_history;
  reset_memory_peak();
  uint64_t before = memory_counts().in_use_bytes;
  linear_cross_entropy(in, kLarge.targets(), kLarge.options());
  EXPECT_LT(memory_counts().peak_bytes - before, logits / 2);
}

TEST(LinearCrossEntropy, DoesNoMoreWorkThanIsWanted) {
  LinearLogits in = kLarge.logits();
  const uint64_t product = static_cast<uint64_t>(2 * kLarge.B * kLarge.T * kLarge.V * kLarge.F);
  auto products = [&](const LinearLogits& of) {
    uint64_t before = gemm_flops();
    Variable loss = linear_cross_entropy(of, kLarge.targets(), kLarge.options()).loss;
    if (loss.requires_grad()) backward(loss);
    return (gemm_flops() - before) / product;
  };
  EXPECT_EQ(products(in), 3u);
  LinearLogits some = in;
  some.x = in.x.detach();
  EXPECT_EQ(products(some), 2u);
  some.weight = in.weight.detach();
  EXPECT_EQ(products(some), 1u);
  NoGrad no_history;
  EXPECT_EQ(products(in), 1u);
}

TEST(LinearCrossEntropy, WithoutGradientsTheLossesAreTheSame) {
  LinearLogits in = kLarge.logits();
  TokenLoss with = linear_cross_entropy(in, kLarge.targets(), kLarge.options());
  EXPECT_TRUE(with.loss.requires_grad());
  EXPECT_FALSE(with.nll.requires_grad());
  NoGrad no_history;
  TokenLoss without = linear_cross_entropy(in, kLarge.targets(), kLarge.options());
  EXPECT_FALSE(without.loss.requires_grad());
  EXPECT_EQ(without.loss.item(), with.loss.item());
  EXPECT_EQ(without.nll.item(), with.nll.item());
}

TEST(LinearCrossEntropy, BitsDoNotDependOnThreads) {
  int before = threads();
  for (double upstream : {1.0, 0.3}) {
    LossCase c = kLarge;
    c.upstream = upstream;
    LinearLogits in = c.logits();
    set_threads(1);
    LossOutcome one = loss_outcome(linear_cross_entropy, c, in);
    for (int team : {2, 5}) {
      set_threads(team);
      testing::expect_near(loss_outcome(linear_cross_entropy, c, in), one, 0);
    }
  }
  set_threads(before);
}

TEST(LinearCrossEntropy, ATableMayBeFeaturesAndWeight) {
  // Tied word vectors: two gradients meet in one leaf, and what the op holds must not change by it.
  Variable table(testing::random_tensor({9, 3}, 1), true);
  IdMatrix ids(2, 4, 0);
  ids.values = {3, 8, 8, 2, 5, 3, 0, 1};
  auto loss = [&](auto&& op) {
    return op({.x = embedding(table, ids), .weight = table, .bias = {}, .base = {}}, ids,
              CrossEntropyOptions{})
        .loss;
  };
  Tensor expected = backward(loss(composed_loss)).of(table);
  Variable fused = loss(linear_cross_entropy);
  for (int again = 0; again < 2; ++again) {
    Tensor got = backward(fused).of(table);
    for (int64_t i = 0; i < got.count(); ++i)
      EXPECT_NEAR(got.data()[i], expected.data()[i], 1e-6) << again;
  }
}

TEST(LinearCrossEntropy, IgnoredTargetsGiveNothing) {
  LossCase c{.base = true, .smoothing = 0.1, .ignored = 2};
  LossOutcome out = loss_outcome(linear_cross_entropy, c, c.logits());
  EXPECT_EQ(out.loss, 0);
  EXPECT_EQ(out.nll, 0);
  for (const Tensor& gradient : out.gradients) EXPECT_TRUE(all_zero(gradient));
}

TEST(LinearCrossEntropy, NoRowsGiveNothing) {
  for (Shape shape : {Shape{0, 4, 3}, Shape{2, 0, 3}}) {
    LinearLogits in{.x = Variable(Tensor(shape), true),
                    .weight = Variable(testing::random_tensor({5, 3}, 1), true),
                    .bias = Variable(Tensor::zeros({5}), true),
                    .base = Variable(Tensor::zeros({shape[0], 5}), true)};
    IdMatrix none(shape[0], shape[1], 0);
    TokenLoss out = linear_cross_entropy(in, none);
    EXPECT_EQ(out.loss.item(), cross_entropy(linear(in.x, in.weight), none).item());
    EXPECT_EQ(out.nll.item(), 0);
    Gradients gradients = backward(out.loss);
    for (const Variable& input : {in.x, in.weight, in.bias, in.base}) {
      EXPECT_EQ(gradients.of(input).shape(), input.shape());
      EXPECT_TRUE(all_zero(gradients.of(input)));
    }
  }
}

TEST(LinearCrossEntropy, ANanIsSeenUnlessItsTargetIsIgnored) {
  for (bool of_base : {false, true})
    for (Id target : {1, 4})
      for (int64_t at : {0, 5, 39}) {
        LossCase c{.B = 2, .T = 3, .F = 4, .V = 40, .base = true, .smoothing = 0};
        LinearLogits in = c.logits();
        IdMatrix targets = c.targets();
        std::fill(targets.values.begin(), targets.values.begin() + 3, target);  // sentence 0
        if (of_base)
          in.base.leaf_value().data()[at] = kNan;
        else
          in.x.leaf_value().data()[2 * 4 + 1] = kNan;  // all words of row 2
        TokenLoss out = linear_cross_entropy(in, targets, c.options());
        EXPECT_EQ(std::isnan(out.loss.item()), target != 1);
        EXPECT_EQ(std::isnan(out.nll.item()), target != 1);
      }
}

TEST(LinearCrossEntropy, MisfitsAreNamed) {
  auto text = [](const Shape& x, const Shape& weight, const Shape& bias, const Shape& base,
                 const IdMatrix& targets) {
    return error_text([&] {
      linear_cross_entropy({.x = Tensor::zeros(x),
                            .weight = Tensor::zeros(weight),
                            .bias = Tensor::zeros(bias),
                            .base = Tensor::zeros(base)},
                           targets);
    });
  };
  IdMatrix fits(2, 3, 4), few(2, 2, 4), outside(2, 3, 5);
  EXPECT_EQ(text({2, 3, 4}, {5, 3}, {5}, {2, 5}, fits),
            "[linear_cross_entropy] x (2, 3, 4) does not fit weight (5, 3) of (words, features)");
  EXPECT_EQ(text({2, 3, 4}, {5, 4}, {4}, {2, 5}, fits),
            "[linear_cross_entropy] bias (4) must be (5), one for each row of weight (5, 4)");
  EXPECT_EQ(text({2, 3, 4}, {5, 4}, {5}, {3, 5}, fits),
            "[linear_cross_entropy] base (3, 5) must be (2, 5), one row for each sentence of x "
            "(2, 3, 4)");
  EXPECT_EQ(text({2, 3, 4}, {5, 4}, {5}, {2, 5}, few),
            "[linear_cross_entropy] features (2, 3, 4) do not fit targets (2, 2)");
  EXPECT_EQ(text({2, 3, 4}, {5, 4}, {5}, {2, 5}, outside),
            "[linear_cross_entropy] target 5 is outside the 5 words");
}

}  // namespace
}  // namespace lookback
