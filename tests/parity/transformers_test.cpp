#include "nn/multi_head_attention.h"
#include "nn/transformer_layer.h"
#include "parity/parity.h"
#include "support/models.h"

// Multi-head attention, the Transformer's layers and whole Transformers against what PyTorch
// computed (transformers.py).

namespace lookback {
namespace {

using testing::Parity;

constexpr int64_t kWidth = 8, kHeads = 2, kInner = 12;

/// Padding, where the case has any, of `columns` keys.
Mask padding(const Parity& c, int64_t columns, const std::string& lengths = "lengths") {
  return c.has("input", lengths) ? Mask::from_lengths(c.lengths(lengths), columns) : Mask();
}

/// Whether all scores are held or worked out block by block, the numbers are PyTorch's.
constexpr AttentionWay kWays[] = {AttentionWay::kMaterialised, AttentionWay::kBlockwise};

TEST(Parity, SelfAttention) {
  for (const std::string name : {"attention", "attention_no_bias", "attention_padded",
                                 "attention_causal", "attention_padded_causal"})
    for (AttentionWay way : kWays)
      for (bool weights : {false, true}) {
        Parity c(name);
        MultiHeadAttention layer(
            {.width = kWidth, .heads = kHeads, .bias = !name.ends_with("no_bias"), .way = way});
        c.load(layer);
        Variable x = c.input("query");
        Mask mask = padding(c, x.size(1));
        if (name.ends_with("causal")) mask = mask.and_causal();
        Attended out = layer.self(x, {.mask = mask, .pass = {}, .weights = weights});
        if (weights) c.expect_equal("seen", "weights", out.weights.value());
        c.result("output", out.context);
        c.expect_gradients();
      }
}

TEST(Parity, CrossAttention) {
  for (const std::string name :
       {"attention_cross", "attention_cross_padded", "attention_cross_no_bias",
        "attention_wider_memory", "attention_narrower_memory_no_bias"})
    for (AttentionWay way : kWays)
      for (bool weights : {false, true}) {
        Parity c(name);
        Variable x = c.input("query"), memory = c.input("memory");
        MultiHeadAttention layer({.width = kWidth,
                                  .memory = memory.size(2),
                                  .heads = kHeads,
                                  .bias = !name.ends_with("no_bias"),
                                  .way = way});
        c.load(layer);
        Attended out =
            layer.cross(x, layer.prepare(memory),
                        {.mask = padding(c, memory.size(1)), .pass = {}, .weights = weights});
        if (weights) c.expect_equal("seen", "weights", out.weights.value());
        c.result("output", out.context);
        c.expect_gradients();
      }
}

TransformerLayerOptions options(bool pre, bool gelu) {
  return {
      .width = kWidth, .heads = kHeads, .feed_forward = kInner, .norm_first = pre, .gelu = gelu};
}

TEST(Parity, TransformerEncoderLayer) {
  for (bool pre : {false, true})
    for (bool gelu : {false, true}) {
      Parity c(format("encoder_layer_{}_{}", pre ? "pre" : "post", gelu ? "gelu" : "relu"));
      TransformerEncoderLayer layer(options(pre, gelu));
      c.load(layer);
      Variable x = c.input("x");
      c.result("output", layer(x, padding(c, x.size(1)), {}));
      c.expect_gradients();
    }
}

TEST(Parity, TransformerDecoderLayer) {
  for (bool pre : {false, true})
    for (bool gelu : {false, true}) {
      Parity c(format("decoder_layer_{}_{}", pre ? "pre" : "post", gelu ? "gelu" : "relu"));
      TransformerDecoderLayer layer(options(pre, gelu));
      c.load(layer);
      Variable x = c.input("x"), memory = c.input("memory");
      c.result("output",
               layer(x, layer.prepare(memory), padding(c, memory.size(1), "memory_lengths"), {}));
      c.expect_gradients();
    }
}

/// nn.Transformer with its last norms, word vectors times sqrt(D), sinusoids, an output layer: our
/// model as a config describes it.
TEST(Parity, WholeTransformer) {
  for (const std::string norm : {"pre", "post"}) {
    Parity c("transformer_" + norm);
    const std::string side = format(
        "{{type: transformer, width: {}, heads: {}, feed_forward: {}, layers: 2, norm: {}}}\n",
        kWidth, kHeads, kInner, norm);
    auto model = testing::build_model("model:\n  encoder: " + side + "  decoder: " + side, 7);
    c.load(*model);
    Batch batch{.source = c.ids("source"),
                .source_lengths = c.lengths("source_lengths"),
                .decoder_input = c.ids("target"),
                .target = {},
                .target_lengths = c.lengths("target_lengths")};
    c.result("logits", model->forward(batch));
    c.expect_gradients();
  }
}

}  // namespace
}  // namespace lookback
