#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "autograd/gradient_check.h"
#include "core/allocator.h"
#include "core/threads.h"
#include "support/composed_attention.h"
#include "support/random_tensor.h"

// Where dot_product_attention() could go wrong without the common cases showing it: one tensor in
// several roles, products large enough to be split, numbers that are none.

namespace lookback {
namespace {

using testing::composed_attention;
using testing::random_tensor;

constexpr AttentionWay kWays[] = {AttentionWay::kMaterialised, AttentionWay::kBlockwise};
constexpr Real kNan = std::numeric_limits<Real>::quiet_NaN();
constexpr Real kInfinity = std::numeric_limits<Real>::infinity();

class Threads {
 public:
  explicit Threads(int count) : before_(threads()) { set_threads(count); }
  ~Threads() { set_threads(before_); }
  Threads(const Threads&) = delete;
  Threads& operator=(const Threads&) = delete;

 private:
  int before_;
};

double largest_difference(const Tensor& a, const Tensor& b) {
  EXPECT_EQ(a.shape(), b.shape());
  double worst = 0;
  for (int64_t i = 0; i < a.count(); ++i) {
    double difference = std::abs(a.data()[i] - b.data()[i]);
    if (!(difference <= worst)) worst = difference;  // NaN is worse than any
  }
  return worst;
}

struct Roles {
  const char* name;
  Heads query, key, value;
};

/// All the ways in which one tensor (B, S, 24) may be queries, keys and values at once.
std::vector<Roles> roles(const Variable& x) {
  return {{"side by side", heads(x, 4, 3), heads(x, 2, 3, 12), heads(x, 2, 3, 18)},
          {"keys are the values", heads(x, 4, 3), heads(x, 2, 3, 12), heads(x, 2, 3, 12)},
          {"all the same", heads(x, 4, 6), heads(x, 4, 6), heads(x, 4, 6)},
          {"keys among the queries", heads(x, 4, 3), heads(x, 2, 3), heads(x, 2, 3, 12)},
          {"values across the keys", heads(x, 4, 3), heads(x, 2, 3, 12), heads(x, 2, 3, 14)},
          {"values wider than keys", heads(x, 2, 3), heads(x, 2, 3, 12), heads(x, 2, 6, 12)}};
}

TEST(DotProductAttentionEdges, OneTensorMayStandInSeveralRoles) {
  Variable x(random_tensor({2, 200, 24}, 1), true);
  Mask mask = Mask::from_lengths({200, 131}, 200);
  for (const Roles& r : roles(x))
    for (AttentionWay way : kWays) {
      SCOPED_TRACE(r.name);
      auto gradient = [&](auto&& op, int team) {
        Threads use(team);
        DotProductOptions options{.mask = mask, .way = way};
        return backward(uneven_loss({op(r.query, r.key, r.value, options).context})).of(x);
      };
      Tensor alone = gradient(dot_product_attention, 1);
      EXPECT_LT(largest_difference(alone, gradient(composed_attention, 1)), 1e-5);
      // Groups that add into the same columns must do so in the same order.
      for (int again = 0; again < 3; ++again)
        EXPECT_EQ(largest_difference(alone, gradient(dot_product_attention, 4)), 0);
    }
}

// A product of this size is split where it does not stand in a parallel loop already.
TEST(DotProductAttentionEdges, LargeProductsHaveTheSameBitsOnAnyNumberOfThreads) {
  Variable x(random_tensor({2, 400, 4 * 64}, 1), true);
  for (AttentionWay way : kWays)
    for (bool causal : {false, true}) {
      auto outcome = [&](int team) {
        Threads use(team);
        Variable context =
            dot_product_attention(heads(x, 2, 64), heads(x, 1, 64, 128), heads(x, 1, 64, 192),
                                  {.mask = causal ? Mask::causal() : Mask(), .way = way})
                .context;
        return std::pair(context.value(), backward(uneven_loss({context})).of(x));
      };
      auto one = outcome(1);
      for (int team : {2, 3}) {
        auto more = outcome(team);
        EXPECT_EQ(largest_difference(one.first, more.first), 0);
        EXPECT_EQ(largest_difference(one.second, more.second), 0);
      }
    }
}

// The gradient of log w at a weight of 0 is infinite; what is masked must not care.
TEST(DotProductAttentionEdges, WhatReachesAMaskedWeightIsNotRead) {
  Mask holes(2, 6, {1, 0, 1, 1, 0, 1, 0, 1, 1, 0, 0, 0});
  Tensor k = random_tensor({2, 2, 6, 3}, 2), v = random_tensor({2, 2, 6, 3}, 3);
  for (AttentionWay way : kWays)
    for (const Mask& mask : {holes, holes.and_causal(), Mask::from_lengths({6, 2}, 6)})
      for (Real poison : {kNan, kInfinity}) {
        Variable query(random_tensor({2, 2, 6, 3}, 1), true);
        Attended out = dot_product_attention(heads(query), heads(k), heads(v),
                                             {.mask = mask, .way = way, .weights = true});
        Tensor seed = random_tensor({2, 2, 6, 6}, 4), poisoned = seed.clone();
        for (int64_t b = 0; b < 2; ++b)
          for (int64_t h = 0; h < 2; ++h)
            for (int64_t t = 0; t < 6; ++t)
              for (int64_t s = 0; s < 6; ++s)
                if (!mask.at(b, s) || s >= mask.visible(t, 6, 6))
                  poisoned.data()[((b * 2 + h) * 6 + t) * 6 + s] = poison;
        EXPECT_EQ(largest_difference(backward(out.weights, seed).of(query),
                                     backward(out.weights, poisoned).of(query)),
                  0);
      }
}

// Position 140 and on hold no number, in a sentence longer than a block.
TEST(DotProductAttentionEdges, APoisonedFutureLeavesThePastAsItWas) {
  const int64_t S = 300, K = 4, bad = 140;
  for (AttentionWay way : kWays)
    for (Real poison : {kNan, kInfinity, -kInfinity})
      for (int which : {1, 2, 3}) {  // keys, values, both
        auto run = [&](bool poisoned) {
          Tensor k = random_tensor({1, 1, S, K}, 2), v = random_tensor({1, 1, S, K}, 3);
          if (poisoned && which & 1) std::fill(k.data() + bad * K, k.data() + S * K, poison);
          if (poisoned && which & 2) std::fill(v.data() + bad * K, v.data() + S * K, poison);
          Variable query(random_tensor({1, 1, S, K}, 1), true), values(v, true);
          Attended out =
              dot_product_attention(heads(query), heads(k), heads(values),
                                    {.mask = Mask::causal(), .way = way, .weights = true});
          Tensor gradient =
              backward(uneven_loss({narrow(out.context, 2, 0, bad)})).of(query).clone();
          auto before = [&](const Tensor& x) {  // rows of the past
            return x.reshape({S, x.count() / S}).rows(0, bad);
          };
          return std::vector<Tensor>{before(out.context.value()), before(out.weights.value()),
                                     before(gradient)};
        };
        std::vector<Tensor> clean = run(false), got = run(true);
        for (size_t i = 0; i < clean.size(); ++i)
          EXPECT_LT(largest_difference(got[i], clean[i]), 1e-6) << i;
      }
}

// A query that is no number itself spoils the keys that it sees, and those alone.
TEST(DotProductAttentionEdges, APoisonedQueryLeavesTheKeysAfterIt) {
  const int64_t S = 8, K = 3, bad = 2;
  Tensor q = random_tensor({1, 1, S, K}, 1);
  q.data()[bad * K] = kNan;
  for (AttentionWay way : kWays) {
    Variable keys(random_tensor({1, 1, S, K}, 2), true),
        values(random_tensor({1, 1, S, K}, 3), true);
    Variable context = dot_product_attention(heads(q), heads(keys), heads(values),
                                             {.mask = Mask::causal(), .way = way})
                           .context;
    Gradients g = backward(uneven_loss({context}));
    for (const Variable& x : {keys, values})
      for (int64_t s = 0; s < S; ++s)
        EXPECT_EQ(std::isnan(g.of(x).at({0, 0, s, 0})), s <= bad) << s;
  }
}

TEST(DotProductAttentionEdges, OneQueryAtATimeEqualsAllAtOnce) {
  const int64_t B = 2, H = 4, G = 2, S = 9, K = 5;
  Tensor q = random_tensor({B, S, H * K}, 1), k = random_tensor({B, S, G * K}, 2),
         v = random_tensor({B, S, G * K}, 3);
  auto upto = [&](const Tensor& x, int64_t n) { return narrow(x, 1, 0, n); };
  Variable all = dot_product_attention(heads(q, H, K), heads(k, G, K), heads(v, G, K),
                                       {.mask = Mask::causal()})
                     .context;
  for (int64_t t = 0; t < S; ++t) {
    Variable step =
        dot_product_attention(heads(narrow(q, 1, t, 1), H, K), heads(upto(k, t + 1), G, K),
                              heads(upto(v, t + 1), G, K), {.mask = Mask::causal()})
            .context;
    EXPECT_LT(largest_difference(step.value(), narrow(all, 1, t, 1).value()), 1e-6);
  }
}

TEST(DotProductAttentionEdges, WithoutGradientsNoScoresAreKept) {
  Tensor x = random_tensor({8, 200, 3 * 16}, 1);
  reset_memory_peak();
  uint64_t before = memory_counts().in_use_bytes;
  Threads use(1);
  dot_product_attention(heads(x, 2, 8), heads(x, 2, 8, 16), heads(x, 2, 8, 32),
                        {.way = AttentionWay::kMaterialised});
  EXPECT_LT(memory_counts().peak_bytes - before, 8 * 2 * 200 * 200 * sizeof(Real) / 4);
}

TEST(DotProductAttentionEdges, NothingToAttendToGivesZeros) {
  for (AttentionWay way : kWays) {
    Variable query(random_tensor({2, 2, 3, 4}, 1), true);
    Variable context = dot_product_attention(heads(query), heads(Tensor::zeros({2, 2, 0, 4})),
                                             heads(Tensor::zeros({2, 2, 0, 5})), {.way = way})
                           .context;
    EXPECT_EQ(largest_difference(context.value(), Tensor::zeros({2, 2, 3, 5})), 0);
    EXPECT_EQ(
        largest_difference(backward(uneven_loss({context})).of(query), Tensor::zeros({2, 2, 3, 4})),
        0);
  }
}

}  // namespace
}  // namespace lookback
