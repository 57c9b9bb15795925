#include <gtest/gtest.h>

#include "autograd/gradient_check.h"
#include "nn/positions.h"
#include "nn/transformer_layer.h"
#include "support/layers.h"
#include "support/random_tensor.h"

namespace lookback {
namespace {

using testing::leaves_of;
using testing::random_tensor;

void expect_gradients(const Module& layer, std::vector<Variable> inputs,
                      const std::function<std::vector<Variable>()>& function) {
  std::vector<Variable> leaves = leaves_of(layer);
  leaves.insert(leaves.end(), inputs.begin(), inputs.end());
  Gradients gradients = backward(uneven_loss(function()));
  for (size_t i = 0; i < leaves.size(); ++i)
    EXPECT_TRUE(gradients.contains(leaves[i])) << "leaf " << i << " gets no gradient";
  GradientCheck check = check_gradients_of(function, leaves);
  EXPECT_LT(check.worst, 2e-8) << check.where;
}

Variable leaf(const Shape& shape, uint64_t seed) {
  return Variable(random_tensor(shape, seed), true);
}

TEST(LayerGradient, LayerNormWithItsParameters) {
  LayerNorm norm({.size = 5});
  norm.initialize(1);
  Variable x = leaf({2, 3, 5}, 1);
  expect_gradients(norm, {x}, [&] { return std::vector<Variable>{norm(x)}; });
}

TEST(LayerGradient, MultiHeadAttentionInEveryForm) {
  Mask mask = Mask::from_lengths({3, 1}, 3);
  for (int64_t pairs : {4, 2, 1})
    for (int64_t memory_width : {8, 3})
      for (bool bias : {true, false}) {
        SCOPED_TRACE(::testing::Message() << pairs << " " << memory_width << " " << bias);
        MultiHeadAttention attention({.width = 8,
                                      .memory = memory_width,
                                      .heads = 4,
                                      .key_value_heads = pairs,
                                      .bias = bias,
                                      .dropout = 0.3});
        attention.initialize(1);
        // Biases start at zero, where a mixed-up one would not show.
        uint64_t seed = 50;
        for (Module::Named& p : attention.parameters())
          p.variable.leaf_value().copy_from(random_tensor(p.variable.shape(), ++seed));
        Variable x = leaf({2, 2, 8}, 2), memory = leaf({2, 3, memory_width}, 3);
        MultiHeadAttention::Call call{
            .mask = mask, .pass = {.training = true, .key = {.seed = 7}}, .weights = true};
        expect_gradients(attention, {x, memory}, [&] {
          Attended out = attention.cross(x, attention.prepare(memory), call);
          return std::vector<Variable>{out.context, out.weights};
        });
        if (memory_width != 8) continue;
        MultiHeadAttention::Call causal{.mask = Mask::causal(), .pass = {}};
        expect_gradients(attention, {x},
                         [&] { return std::vector<Variable>{attention.self(x, causal).context}; });
        // One token after another, through the cache.
        expect_gradients(attention, {x}, [&] {
          Variable cache = Tensor::zeros({2, 0, attention.cache_width()});
          Variable first = attention.next(narrow(x, 1, 0, 1), cache);
          return std::vector<Variable>{first, attention.next(narrow(x, 1, 1, 1), cache)};
        });
      }
}

TEST(LayerGradient, TransformerLayers) {
  Mask mask = Mask::from_lengths({3, 2}, 3);
  for (bool norm_first : {true, false})
    for (bool gelu : {true, false})
      for (double dropout : {0.0, 0.3}) {
        SCOPED_TRACE(::testing::Message() << norm_first << " " << gelu << " " << dropout);
        TransformerLayerOptions options{.width = 4,
                                        .heads = 2,
                                        .key_value_heads = 1,
                                        .feed_forward = 5,
                                        .norm_first = norm_first,
                                        .gelu = gelu,
                                        .residual_dropout = dropout,
                                        .attention_dropout = dropout,
                                        .feed_forward_dropout = dropout};
        Pass pass{.training = dropout > 0, .key = {.seed = 3}};
        TransformerEncoderLayer encoder(options);
        encoder.initialize(1);
        Variable x = leaf({2, 3, 4}, 2);
        expect_gradients(encoder, {x},
                         [&] { return std::vector<Variable>{encoder(x, mask, pass)}; });
        options.memory = 3;
        TransformerDecoderLayer decoder(options);
        decoder.initialize(2);
        Variable memory = leaf({2, 3, 3}, 3);
        expect_gradients(decoder, {x, memory}, [&] {
          return std::vector<Variable>{decoder(x, decoder.prepare(memory), mask, pass)};
        });
      }
}

TEST(LayerGradient, LearnedPositions) {
  Positions positions({.kind = "learned", .width = 3, .max_positions = 5, .random_offset = 2});
  positions.initialize(1);
  Variable x = leaf({2, 4, 3}, 2);
  Pass pass{.training = true, .key = {.seed = 2}};
  expect_gradients(positions, {x}, [&] {
    return std::vector<Variable>{positions(x, {4, 2}, pass), positions.at(narrow(x, 1, 0, 1), 3)};
  });
}

}  // namespace
}  // namespace lookback
