#include <gtest/gtest.h>

#include <limits>

#include "autograd/gradient_check.h"
#include "core/allocator.h"
#include "core/threads.h"
#include "support/composed_attention.h"
#include "support/error_text.h"
#include "support/random_tensor.h"

namespace lookback {
namespace {

using testing::composed_attention;
using testing::error_text;
using testing::random_tensor;

constexpr AttentionWay kWays[] = {AttentionWay::kMaterialised, AttentionWay::kBlockwise};
constexpr Real kNan = std::numeric_limits<Real>::quiet_NaN();
constexpr Real kInfinity = std::numeric_limits<Real>::infinity();

/// One question to the op: sizes, mask, and whether heads stand in columns of one tensor.
struct Case {
  int64_t B = 2, H = 4, G = 2, T = 5, S = 7, K = 3, V = 2;
  Mask mask = {};
  std::string name = {};
};

std::vector<Case> cases() {
  Mask padded = Mask::from_lengths({7, 3}, 7);
  Mask holes(2, 7, {1, 0, 1, 1, 0, 1, 0, 0, 1, 1, 0, 0, 0, 0});
  Mask one_sees_nothing = Mask::from_lengths({4, 0}, 7);
  std::vector<Case> out;
  for (auto [G, what] : {std::pair{4, "own keys"}, {2, "groups"}, {1, "one group"}})
    for (int64_t T : {1, 5, 7, 9})  // fewer queries than keys, as many, more
      for (const Mask& mask : {Mask(), padded, holes, one_sees_nothing})
        for (bool causal : {false, true})
          out.push_back(
              {.G = G,
               .T = T,
               .mask = causal ? mask.and_causal() : mask,
               .name = format("{}, T = {}, mask {}, causal {}", what, T,
                              mask.defined() ? mask.at(0, 1) + mask.at(1, 0) * 2 : 9, causal)});
  // Longer than a block of queries and keys.
  for (bool causal : {false, true}) {
    Mask mask = Mask::from_lengths({700}, 700);
    out.push_back({.B = 1,
                   .H = 2,
                   .G = 1,
                   .T = 300,
                   .S = 700,
                   .K = 20,
                   .V = 17,
                   .mask = causal ? mask.and_causal() : mask,
                   .name = "long"});
  }
  return out;
}

struct Outcome {
  Tensor context, weights, query, keys, values;
};

template <class Op>
Outcome run(Op&& op, const Case& c, const Tensor& q, const Tensor& k, const Tensor& v,
            const DotProductOptions& options) {
  Variable query(q, true), keys(k, true), values(v, true);
  Attended out = op(heads(query), heads(keys), heads(values), options);
  std::vector<Variable> results{out.context};
  if (out.weights.defined()) results.push_back(out.weights);
  Gradients g = backward(uneven_loss(results));
  EXPECT_EQ(out.context.shape(), Shape({c.B, c.H, c.T, c.V}));
  return {out.context.value(), out.weights.defined() ? out.weights.value() : Tensor(), g.of(query),
          g.of(keys), g.of(values)};
}

Tensor queries_of(const Case& c) {
  return random_tensor({c.B, c.H, c.T, c.K}, 1, -2, 2);
}
Tensor keys_of(const Case& c) {
  return random_tensor({c.B, c.G, c.S, c.K}, 2, -2, 2);
}
Tensor values_of(const Case& c) {
  return random_tensor({c.B, c.G, c.S, c.V}, 3);
}

void expect_near(const Tensor& a, const Tensor& b, double tolerance, const char* what) {
  ASSERT_EQ(a.defined(), b.defined()) << what;
  if (!a.defined()) return;
  ASSERT_EQ(a.shape(), b.shape()) << what;
  for (int64_t i = 0; i < a.count(); ++i)
    ASSERT_NEAR(a.data()[i], b.data()[i], tolerance) << what << " " << i;
}

void expect_near(const Outcome& a, const Outcome& b, double tolerance) {
  expect_near(a.context, b.context, tolerance, "context");
  expect_near(a.weights, b.weights, tolerance, "weights");
  expect_near(a.query, b.query, tolerance, "gradient of the queries");
  expect_near(a.keys, b.keys, tolerance, "gradient of the keys");
  expect_near(a.values, b.values, tolerance, "gradient of the values");
}

TEST(DotProductAttention, BothWaysEqualTheComposedOne) {
  for (const Case& c : cases())
    for (bool weights : {false, true}) {
      SCOPED_TRACE(c.name);
      DotProductOptions options{.mask = c.mask, .weights = weights};
      Outcome expected =
          run(composed_attention, c, queries_of(c), keys_of(c), values_of(c), options);
      for (AttentionWay way : kWays) {
        options.way = way;
        expect_near(run(dot_product_attention, c, queries_of(c), keys_of(c), values_of(c), options),
                    expected, c.T > 100 ? 2e-4 : 5e-6);
      }
    }
}

TEST(DotProductAttention, AskingForWeightsChangesNoBitOfTheContext) {
  for (const Case& c : cases())
    for (AttentionWay way : kWays) {
      SCOPED_TRACE(c.name);
      auto context = [&](bool weights) {
        return dot_product_attention(heads(queries_of(c)), heads(keys_of(c)), heads(values_of(c)),
                                     {.mask = c.mask, .way = way, .weights = weights})
            .context.value();
      };
      expect_near(context(false), context(true), 0, "context");
    }
}

/// What a query may not see, filled with poison.
TEST(DotProductAttention, WhatMayNotBeSeenIsNeverRead) {
  for (Case c : cases()) {
    if (!c.mask.defined()) continue;
    for (AttentionWay way : kWays)
      for (Real poison : {kNan, kInfinity}) {
        SCOPED_TRACE(c.name);
        Tensor k = keys_of(c), v = values_of(c);
        DotProductOptions options{.mask = c.mask, .way = way, .weights = true};
        Outcome clean = run(dot_product_attention, c, queries_of(c), k.clone(), v.clone(), options);
        for (int64_t b = 0; b < c.B; ++b)
          for (int64_t s = 0; s < c.S; ++s)
            if (!c.mask.at(b, s))
              for (int64_t g = 0; g < c.G; ++g) {
                std::fill_n(k.data() + ((b * c.G + g) * c.S + s) * c.K, c.K, poison);
                std::fill_n(v.data() + ((b * c.G + g) * c.S + s) * c.V, c.V, poison);
              }
        expect_near(run(dot_product_attention, c, queries_of(c), k, v, options), clean, 0);
      }
  }
}

TEST(DotProductAttention, TheFutureIsNeverReadIntoThePast) {
  Case c{.H = 2, .G = 1, .T = 6, .S = 6};
  for (AttentionWay way : kWays)
    for (Real poison : {kNan, kInfinity})
      for (bool keys : {false, true}) {
        DotProductOptions options{.mask = Mask::causal(), .way = way};
        auto context_and_gradient = [&](bool poisoned) {
          Tensor k = keys_of(c), v = values_of(c);
          if (poisoned) (keys ? k : v).data()[4 * (keys ? c.K : c.V)] = poison;  // position 4
          Variable query(queries_of(c), true), key(k, true), value(v, true);
          Variable context =
              dot_product_attention(heads(query), heads(key), heads(value), options).context;
          // Only the queries before it count.
          Gradients g = backward(uneven_loss({narrow(context, 2, 0, 4)}));
          return std::pair(context.value(), g.of(query));
        };
        auto [clean, clean_gradient] = context_and_gradient(false);
        auto [context, gradient] = context_and_gradient(true);
        for (int64_t h = 0; h < 2; ++h)
          for (int64_t t = 0; t < 6; ++t)
            for (int64_t d = 0; d < c.V; ++d) {
              if (t < 4) {
                EXPECT_NEAR(context.at({0, h, t, d}), clean.at({0, h, t, d}), 1e-6);
              } else if (std::isnan(poison) && d == 0) {
                EXPECT_TRUE(std::isnan(context.at({0, h, t, d})));
              }
            }
        for (int64_t h = 0; h < 2; ++h)
          for (int64_t t = 0; t < 4; ++t)
            EXPECT_NEAR(gradient.at({0, h, t, 1}), clean_gradient.at({0, h, t, 1}), 1e-5);
      }
}

TEST(DotProductAttention, HeadsMayBeColumnsOfOneTensor) {
  // Queries, keys and values side by side, as one projection leaves them: 4 + 2 + 2 heads of 3.
  const int64_t B = 2, T = 5, H = 4, G = 2, K = 3;
  for (AttentionWay way : kWays) {
    DotProductOptions options{.mask = Mask::from_lengths({5, 2}, 5).and_causal(), .way = way};
    auto outcome = [&](auto&& op) {
      Variable x(random_tensor({B, T, (H + 2 * G) * K}, 4), true);
      Variable context =
          op(heads(x, H, K), heads(x, G, K, H * K), heads(x, G, K, (H + G) * K), options).context;
      EXPECT_EQ(context.shape(), Shape({B, T, H * K}));
      return std::pair(context.value(), backward(uneven_loss({tanh(x), context})).of(x));
    };
    auto expected = outcome(composed_attention), got = outcome(dot_product_attention);
    expect_near(got.first, expected.first, 1e-6, "context");
    expect_near(got.second, expected.second, 5e-6, "gradient");
  }
}

TEST(DotProductAttention, DropoutDrawsTheSameBothWaysAndForASentenceInAnyBatch) {
  Case c{.B = 3, .T = 140, .S = 300};
  DotProductOptions options{.mask = Mask::from_lengths({300, 170, 5}, 300),
                            .way = AttentionWay::kMaterialised,
                            .dropout = 0.4,
                            .key = {.seed = 3, .purpose = 7, .step = 2, .index = 10}};
  Outcome one = run(dot_product_attention, c, queries_of(c), keys_of(c), values_of(c), options);
  options.way = AttentionWay::kBlockwise;
  expect_near(run(dot_product_attention, c, queries_of(c), keys_of(c), values_of(c), options), one,
              2e-4);
  options.key.index += 1;
  options.mask = Mask::from_lengths({170}, 300);
  Tensor alone =
      dot_product_attention(heads(queries_of(c).rows(1, 1)), heads(keys_of(c).rows(1, 1)),
                            heads(values_of(c).rows(1, 1)), options)
          .context.value();
  expect_near(alone, one.context.rows(1, 1), 1e-5, "context");
  options.dropout = 0;
  Tensor without =
      dot_product_attention(heads(queries_of(c).rows(1, 1)), heads(keys_of(c).rows(1, 1)),
                            heads(values_of(c).rows(1, 1)), options)
          .context.value();
  EXPECT_GT(std::abs(without.at({0, 0, 0, 0}) - alone.at({0, 0, 0, 0})), 1e-4);
}

TEST(DotProductAttention, BitsDoNotDependOnThreads) {
  int before = threads();
  Case c{.B = 2, .T = 200, .S = 300, .K = 16, .V = 16};
  for (AttentionWay way : kWays) {
    DotProductOptions options{.mask = Mask::from_lengths({300, 250}, 300), .way = way};
    set_threads(1);
    Outcome one = run(dot_product_attention, c, queries_of(c), keys_of(c), values_of(c), options);
    for (int team : {2, 5}) {
      set_threads(team);
      expect_near(run(dot_product_attention, c, queries_of(c), keys_of(c), values_of(c), options),
                  one, 0);
    }
  }
  set_threads(before);
}

TEST(DotProductAttention, BlockByBlockTheMemoryGrowsWithTheLengthAlone) {
  int before_threads = threads();
  set_threads(1);  // with more, the peak depends on which heads happen to run side by side
  auto peak = [](AttentionWay way, int64_t length) {
    Case c{.B = 1, .H = 2, .G = 2, .T = length, .S = length, .K = 8, .V = 8};
    Tensor q = queries_of(c), k = keys_of(c), v = values_of(c);
    uint64_t before = memory_counts().in_use_bytes;
    reset_memory_peak();
    run(dot_product_attention, c, q, k, v, {.way = way});
    return static_cast<double>(memory_counts().peak_bytes - before);
  };
  EXPECT_LT(peak(AttentionWay::kBlockwise, 2048) / peak(AttentionWay::kBlockwise, 1024), 2.2);
  EXPECT_GT(peak(AttentionWay::kMaterialised, 2048) / peak(AttentionWay::kMaterialised, 1024), 3);
  set_threads(before_threads);
}

TEST(DotProductAttention, MisfitsAreNamed) {
  auto text = [](const Shape& q, const Shape& k, const Shape& v, const Mask& mask = {}) {
    return error_text([&] {
      dot_product_attention(heads(Tensor::zeros(q)), heads(Tensor::zeros(k)),
                            heads(Tensor::zeros(v)), {.mask = mask});
    });
  };
  EXPECT_EQ(text({2, 4, 5, 3}, {2, 4, 7, 2}, {2, 4, 7, 3}),
            "[dot_product_attention] a key's head has 2 units, a query's 3: queries (2, 4, 5, 3), "
            "keys (2, 4, 7, 2), values (2, 4, 7, 3)");
  auto starts = [](const std::string& got, const std::string& expected) {
    EXPECT_EQ(got.substr(0, expected.size()), expected);
  };
  starts(text({2, 4, 5, 3}, {2, 3, 7, 3}, {2, 3, 7, 3}),
         "[dot_product_attention] 4 heads of queries cannot share 3 of keys");
  starts(text({2, 4, 5, 3}, {2, 4, 7, 3}, {2, 4, 6, 3}),
         "[dot_product_attention] 6 values for 7 keys");
  starts(text({2, 4, 5, 3}, {2, 4, 7, 3}, {2, 4, 7, 3}, Mask::from_lengths({5, 5}, 5)),
         "[dot_product_attention] the mask is (2, 5), but must be (B, S) = (2, 7)");
}

}  // namespace
}  // namespace lookback
