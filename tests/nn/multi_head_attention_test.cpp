#include "nn/multi_head_attention.h"

#include <gtest/gtest.h>

#include <cmath>

#include "nn/transformer_layer.h"
#include "support/error_text.h"
#include "support/random_tensor.h"

namespace lookback {
namespace {

using testing::error_text;
using testing::random_tensor;

TEST(MultiHeadAttention, ParametersAreTorchsInNameShapeAndFirstDraw) {
  auto described = [](const MultiHeadAttention::Options& options) {
    std::string out;
    for (const Module::Named& p : MultiHeadAttention(options).parameters())
      out += p.name + " " + p.variable.shape().text() + "; ";
    return out;
  };
  EXPECT_EQ(
      described({.width = 8, .heads = 4}),
      "in_proj_weight (24, 8); in_proj_bias (24); out_proj.weight (8, 8); out_proj.bias (8); ");
  EXPECT_EQ(
      described({.width = 8, .heads = 4, .key_value_heads = 1}),
      "in_proj_weight (12, 8); in_proj_bias (12); out_proj.weight (8, 8); out_proj.bias (8); ");
  EXPECT_EQ(described({.width = 8, .memory = 5, .heads = 4, .key_value_heads = 2}),
            "q_proj_weight (8, 8); k_proj_weight (4, 5); v_proj_weight (4, 5); in_proj_bias (16); "
            "out_proj.weight (8, 8); out_proj.bias (8); ");
  EXPECT_EQ(described({.width = 8, .heads = 4, .bias = false}),
            "in_proj_weight (24, 8); out_proj.weight (8, 8); ");

  MultiHeadAttention attention({.width = 64, .heads = 4});
  attention.initialize(1);
  for (const Module::Named& p : attention.parameters()) {
    double largest = 0;
    for (Real value : p.variable.value().values())
      largest = std::max(largest, std::abs(static_cast<double>(value)));
    double bound = p.name == "in_proj_weight"    ? std::sqrt(6.0 / (64 + 3 * 64))
                   : p.name == "out_proj.weight" ? 1 / std::sqrt(64.0)
                                                 : 0;
    EXPECT_LE(largest, bound) << p.name;
    EXPECT_GE(largest, 0.99 * bound) << p.name;
  }
}

TEST(MultiHeadAttention, TokenAfterTokenIsCausalSelfAttention) {
  for (int64_t pairs : {4, 2, 1}) {
    MultiHeadAttention attention({.width = 12, .heads = 4, .key_value_heads = pairs});
    attention.initialize(1);
    Variable x = random_tensor({3, 6, 12}, 2);
    Tensor all = attention.self(x, {.mask = Mask::causal(), .pass = {}}).context.value();
    Variable cache = Tensor::zeros({3, 0, attention.cache_width()});
    for (int64_t t = 0; t < 6; ++t) {
      Tensor one = attention.next(narrow(x, 1, t, 1), cache).value();
      EXPECT_EQ(cache.shape(), Shape({3, t + 1, 2 * pairs * 3}));
      for (int64_t b = 0; b < 3; ++b)
        for (int64_t d = 0; d < 12; ++d)
          EXPECT_NEAR(one.at({b, 0, d}), all.at({b, t, d}), 1e-6) << b << " " << t;
    }
  }
}

TEST(MultiHeadAttention, CrossAttentionToItselfIsSelfAttention) {
  MultiHeadAttention attention({.width = 8, .heads = 4, .key_value_heads = 2});
  attention.initialize(1);
  Variable x = random_tensor({2, 5, 8}, 2);
  Mask mask = Mask::from_lengths({5, 2}, 5);
  Attended self = attention.self(x, {.mask = mask, .pass = {}, .weights = true}),
           cross = attention.cross(x, attention.prepare(x),
                                   {.mask = mask, .pass = {}, .weights = true});
  ASSERT_EQ(self.weights.shape(), Shape({2, 4, 5, 5}));
  for (int64_t i = 0; i < self.context.count(); ++i)
    EXPECT_NEAR(self.context.value().data()[i], cross.context.value().data()[i], 1e-6);
  for (int64_t i = 0; i < self.weights.count(); ++i)
    EXPECT_NEAR(self.weights.value().data()[i], cross.weights.value().data()[i], 1e-6);
}

TEST(MultiHeadAttention, SizesThatDoNotDivideAreErrors) {
  auto text = [](const MultiHeadAttention::Options& options) {
    return error_text([&] { MultiHeadAttention attention(options); });
  };
  EXPECT_EQ(text({.width = 250, .heads = 4}),
            "[multi_head_attention] width 250 is not a multiple of heads 4");
  EXPECT_EQ(text({.width = 8, .heads = 8, .key_value_heads = 3}),
            "[multi_head_attention] heads 8 is not a multiple of key_value_heads 3");
}

/// A layer that drops nothing but at one kind of place must differ from one that drops nowhere, and
/// two places must not drop the same units.
TEST(TransformerLayer, DropsOnWeightsOnResidualsAndInsideTheFeedForward) {
  Pass pass{.training = true, .key = {.seed = 3}};
  Variable x = random_tensor({2, 4, 8}, 2);
  auto run = [&](TransformerLayerOptions options, const Pass& at) {
    options.width = 8;
    options.heads = 2;
    options.feed_forward = 16;
    TransformerEncoderLayer layer(options);
    layer.initialize(1);
    Tensor y = layer(x, Mask::from_lengths({4, 4}, 4), at).value();
    return std::vector<Real>(y.values().begin(), y.values().end());
  };
  std::vector<Real> whole = run({}, pass);
  for (TransformerLayerOptions options : {TransformerLayerOptions{.residual_dropout = 0.5},
                                          TransformerLayerOptions{.attention_dropout = 0.5},
                                          TransformerLayerOptions{.feed_forward_dropout = 0.5}}) {
    EXPECT_NE(run(options, pass), whole);
    EXPECT_EQ(run(options, {}), whole);
    options.site = "elsewhere";
    EXPECT_NE(run(options, pass), run({.residual_dropout = options.residual_dropout,
                                       .attention_dropout = options.attention_dropout,
                                       .feed_forward_dropout = options.feed_forward_dropout},
                                      pass));
  }
}

}  // namespace
}  // namespace lookback
