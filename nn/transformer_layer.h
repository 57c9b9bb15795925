#pragma once

#include <string>

#include "nn/layer_norm.h"
#include "nn/linear.h"
#include "nn/multi_head_attention.h"

namespace lookback {

/// What the layers of a Transformer's encoder and decoder have in common. x + f(norm(x)) with
/// norm_first (pre-norm; Xiong et al., 2020), norm(x + f(x)) without (Vaswani et al., 2017).
struct TransformerLayerOptions {
  int64_t width = 256;           ///< D
  int64_t memory = -1;           ///< units of the encoder's states; -1: D
  int64_t heads = 4;             ///< H
  int64_t key_value_heads = -1;  ///< G; -1: H
  int64_t feed_forward = 1024;
  bool norm_first = true;
  bool gelu = false;  ///< else ReLU
  bool bias = true;   ///< of the projections of attention
  double residual_dropout = 0, attention_dropout = 0, feed_forward_dropout = 0;
  AttentionWay way = AttentionWay::kAuto;
  std::string site = "transformer";  ///< names its places of dropout, each layer's its own
};

/// linear2(activation(linear1(x))), with dropout after the activation.
class FeedForward : public Module {
 public:
  explicit FeedForward(const TransformerLayerOptions& options);
  Variable operator()(const Variable& x, const Pass& pass) const;

 private:
  bool gelu_;
  double dropout_;
  std::string site_;
  Linear first_, second_;
};

/// Self-attention and a feed-forward network, each with a residual connection. Parameters as in
/// torch.nn.TransformerEncoderLayer: `self_attn.*`, `linear1.*`, `linear2.*`, `norm1.*`, `norm2.*`.
class TransformerEncoderLayer : public Module {
 public:
  explicit TransformerEncoderLayer(const TransformerLayerOptions& options);
  /// x (B, S, D) -> (B, S, D).
  Variable operator()(const Variable& x, const Mask& mask, const Pass& pass) const;

 private:
  TransformerLayerOptions options_;
  MultiHeadAttention self_;
  FeedForward feed_forward_;
  LayerNorm norm1_, norm2_;
};

/// Causal self-attention, cross-attention, feed-forward. Parameters as in
/// torch.nn.TransformerDecoderLayer: `self_attn.*`, `multihead_attn.*`, `linear1.*`, `linear2.*`,
/// `norm1.*`, `norm2.*`, `norm3.*`.
class TransformerDecoderLayer : public Module {
 public:
  explicit TransformerDecoderLayer(const TransformerLayerOptions& options);

  /// Keys and values of the memory, once a batch.
  Variable prepare(const Variable& memory) const { return cross_.prepare(memory); }
  /// x (B, T, D) -> (B, T, D), each position looking at those up to itself. `padding` of the
  /// targets is not needed: it comes after every real token.
  Variable operator()(const Variable& x, const Variable& prepared, const Mask& memory,
                      const Pass& pass) const;
  /// One token, x (B, 1, D), those before in a layer of `past`; row b looks at row memory_rows[b] of the
  /// memory (empty: its own), weights (B, H, 1, S). Without history.
  Attended next(const Variable& x, Past& past, int64_t layer, const Variable& prepared,
                const Mask& memory, std::span<const int64_t> memory_rows) const;
  int64_t cache_width() const { return self_.cache_width(); }

 private:
  /// All of the layer around its two attentions, which teacher forcing and next() do differently.
  template <class Self, class Cross>
  Variable around(const Variable& x, Self&& self, Cross&& cross, const Pass& pass) const;

  TransformerLayerOptions options_;
  MultiHeadAttention self_, cross_;
  FeedForward feed_forward_;
  LayerNorm norm1_, norm2_, norm3_;
};

}  // namespace lookback
