#include "nn/attention.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <map>

#include "support/attentions.h"
#include "support/error_text.h"
#include "support/layers.h"
#include "support/random_tensor.h"

namespace lookback {
namespace {

using testing::attention_kinds;
using testing::build_attention;
using testing::error_text;
using testing::random_tensor;

void expect_near(const Variable& a, const Variable& b, double tolerance) {
  ASSERT_EQ(a.shape(), b.shape());
  for (int64_t i = 0; i < a.count(); ++i)
    ASSERT_NEAR(a.value().data()[i], b.value().data()[i], tolerance) << i;
}

const Mask kHoles(3, 4, {1, 1, 1, 1, 1, 0, 0, 0, 0, 1, 0, 1});

TEST(Attention, ManyQueriesGiveWhatOneAfterAnotherGives) {
  Variable values = random_tensor({3, 4, 5}, 2), queries = random_tensor({3, 6, 5}, 3);
  for (const std::string& kind : attention_kinds(true)) {
    SCOPED_TRACE(kind);
    std::unique_ptr<Attention> attention = build_attention(kind, {.query = 5, .values = 5});
    Attention::Keys keys = attention->prepare(values, kHoles);
    Attended many = attention->attend_all(queries, keys);
    Attended singly = attention->Attention::attend_all(queries, keys);  // by attend()
    ASSERT_EQ(many.context.shape(), Shape({3, 6, 5}));
    ASSERT_EQ(many.weights.shape(), Shape({3, 6, 4}));
    expect_near(many.context, singly.context, 1e-6);
    expect_near(many.weights, singly.weights, 1e-6);
    for (int64_t t = 0; t < 6; ++t)
      for (int64_t b = 0; b < 3; ++b)
        for (int64_t s = 0; s < 4; ++s)
          EXPECT_EQ(many.weights.value().at({b, t, s}) > 0, kHoles.at(b, s));
  }
}

TEST(Attention, AnyNumberOfUnitsMayAsk) {
  Variable values = random_tensor({2, 4, 5}, 2), queries = random_tensor({2, 3, 2}, 3);
  for (const std::string& kind : attention_kinds(false)) {
    SCOPED_TRACE(kind);
    std::unique_ptr<Attention> attention = build_attention(kind, {.query = 2, .values = 5});
    Attended many =
        attention->attend_all(queries, attention->prepare(values, Mask::from_lengths({4, 2}, 4)));
    EXPECT_EQ(many.context.shape(), Shape({2, 3, 5}));
  }
}

TEST(Attention, ConcatIsTheAdditiveScoreUnderOneMatrix) {
  const int64_t units = 3, query = 2, values = 4;
  std::unique_ptr<Attention> additive =
      build_attention("type: bahdanau, units: 3", {.query = query, .values = values});
  std::unique_ptr<Attention> concat =
      build_attention("type: luong, score: concat, units: 3", {.query = query, .values = values});
  auto parameters = [](const Attention& attention) {
    std::map<std::string, Variable> out;
    for (const Module::Named& p : attention.parameters()) out[p.name] = p.variable;
    return out;
  };
  auto of_additive = parameters(*additive), of_concat = parameters(*concat);
  Tensor& joint = of_concat.at("joint.weight").leaf_value();
  ASSERT_EQ(joint.shape(), Shape({units, query + values}));
  for (int64_t a = 0; a < units; ++a)
    for (int64_t i = 0; i < query + values; ++i)
      joint.data()[a * (query + values) + i] =
          i < query ? of_additive.at("query.weight").value().at({a, i})
                    : of_additive.at("key.weight").value().at({a, i - query});
  for (int64_t a = 0; a < units; ++a)
    of_concat.at("v").leaf_value().data()[a] = of_additive.at("v").value().data()[a];
  Variable h = random_tensor({3, 4, values}, 5), s = random_tensor({3, query}, 6);
  Attended one = additive->attend(s, additive->prepare(h, kHoles));
  Attended other = concat->attend(s, concat->prepare(h, kHoles));
  expect_near(one.context, other.context, 1e-6);
  expect_near(one.weights, other.weights, 1e-6);
}

TEST(AdditiveAttention, PaddingIsNeverRead) {
  Tensor keys = random_tensor({3, 4, 5}, 1), values = random_tensor({3, 4, 2}, 2);
  for (int64_t b = 0; b < 3; ++b)
    for (int64_t s = 0; s < 4; ++s) {
      if (kHoles.at(b, s)) continue;
      std::fill_n(keys.data() + (b * 4 + s) * 5, 5, std::numeric_limits<Real>::quiet_NaN());
      std::fill_n(values.data() + (b * 4 + s) * 2, 2, std::numeric_limits<Real>::quiet_NaN());
    }
  Variable query(random_tensor({3, 2, 5}, 3), true), v(random_tensor({5}, 4), true), k(keys, true),
      h(values, true);
  Attended out = additive_attention(query, k, v, h, kHoles);
  Gradients gradients = backward(sum(out.context) + sum(out.weights * out.weights));
  std::vector<Tensor> all{out.context.value(), out.weights.value()};
  for (const Variable& leaf : {query, k, v, h}) all.push_back(gradients.of(leaf));
  for (const Tensor& tensor : all)
    for (Real value : tensor.values()) ASSERT_FALSE(std::isnan(value));
}

TEST(AdditiveAttention, RefusesWhatDoesNotFit) {
  Variable query = random_tensor({3, 5}, 1), keys = random_tensor({3, 4, 5}, 1),
           v = random_tensor({5}, 2), values = random_tensor({3, 4, 2}, 3);
  EXPECT_EQ(error_text([&] { additive_attention(query, keys, v, values, kHoles.and_causal()); }),
            "[additive_attention] a causal mask orders the keys of the query's own sentence, but "
            "these are another's: query (3, 5) must be (B, A) or (B, T, A), keys (3, 4, 5) "
            "(B, S, A), v (5) (A), values (3, 4, 2) (B, S, D), mask (3, 4) (B, S)");
  auto starts = [&](const Variable& q, const std::string& expected) {
    EXPECT_EQ(error_text([&] {
                additive_attention(q, keys, v, values, kHoles);
              }).substr(0, expected.size()),
              expected);
  };
  starts(random_tensor({3, 2, 4}, 1),
         "[additive_attention] the query does not fit the keys: query (3, 2, 4) ");
  starts(random_tensor({2, 5}, 1), "[additive_attention] the query does not fit the keys: ");
  starts(random_tensor({3, 2, 2, 5}, 1), "[additive_attention] wrong number of dimensions: ");
}

TEST(DropoutOfLayers, VariationalDropsTheSameUnitsAtAllPositionsOfASentence) {
  const int64_t B = 3, T = 4, D = 16;
  Variable x = Tensor::full({B, T, D}, 1), one = Tensor::full({B, D}, 1);
  Pass pass{.training = true, .key = {.seed = 3, .step = 2, .index = 8}};
  Dropout how{.p = 0.5, .variational = true};
  Tensor all = drop(x, how, pass, "place").value(), next = drop(x, how, pass, "next").value();
  Tensor at_one = drop(one, how, pass, "place", 2).value();
  auto row = [&](const Tensor& t, int64_t i) {
    return std::vector<Real>(t.data() + i * D, t.data() + (i + 1) * D);
  };
  for (int64_t b = 0; b < B; ++b)
    for (int64_t t = 0; t < T; ++t) {
      EXPECT_EQ(row(all, b * T + t), row(all, b * T)) << "another draw at position " << t;
      EXPECT_EQ(row(at_one, b), row(all, b * T)) << "a loop draws otherwise";
    }
  EXPECT_NE(row(all, 0), row(all, T)) << "sentences share a draw";
  EXPECT_NE(row(all, 0), row(next, 0)) << "places share a draw";
  int64_t dropped = 0;
  for (Real value : row(all, 0)) {
    EXPECT_TRUE(value == 0 || value == 2);
    dropped += value == 0;
  }
  EXPECT_GT(dropped, 0);
  how.variational = false;
  Tensor apart = drop(x, how, pass, "place").value();
  EXPECT_NE(row(apart, 0), row(apart, 1));
  EXPECT_NE(row(drop(one, how, pass, "place", 1).value(), 0),
            row(drop(one, how, pass, "place", 2).value(), 0));
  pass.training = false;
  how.variational = true;
  EXPECT_EQ(row(drop(x, how, pass, "place").value(), 0), row(x.value(), 0));
}

}  // namespace
}  // namespace lookback
