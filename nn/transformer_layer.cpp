#include "nn/transformer_layer.h"

namespace lookback {
namespace {

MultiHeadAttention::Options attention(const TransformerLayerOptions& o, int64_t memory,
                                      const char* place) {
  return {.width = o.width,
          .memory = memory,
          .heads = o.heads,
          .key_value_heads = o.key_value_heads,
          .bias = o.bias,
          .dropout = o.attention_dropout,
          .way = o.way,
          .site = o.site + place};
}

/// One residual connection: x + f(norm(x)), or norm(x + f(x)).
template <class F>
Variable residual(const TransformerLayerOptions& o, const Variable& x, const LayerNorm& norm, F&& f,
                  const Pass& pass, const char* place) {
  Variable change = drop(f(o.norm_first ? norm(x) : x), o.residual_dropout, pass, o.site + place);
  return o.norm_first ? x + change : norm(x + change);
}

}  // namespace

FeedForward::FeedForward(const TransformerLayerOptions& o)
    : gelu_(o.gelu),
      dropout_(o.feed_forward_dropout),
      site_(o.site + ".feed_forward"),
      first_({.inputs = o.width, .outputs = o.feed_forward}),
      second_({.inputs = o.feed_forward, .outputs = o.width}) {
  child("linear1", first_);
  child("linear2", second_);
}

Variable FeedForward::operator()(const Variable& x, const Pass& pass) const {
  Variable inner = first_(x);
  return second_(drop(gelu_ ? gelu(inner) : relu(inner), dropout_, pass, site_));
}

TransformerEncoderLayer::TransformerEncoderLayer(const TransformerLayerOptions& o)
    : options_(o),
      self_(attention(o, o.width, ".self")),
      feed_forward_(o),
      norm1_({.size = o.width}),
      norm2_({.size = o.width}) {
  child("self_attn", self_);
  child("", feed_forward_);
  child("norm1", norm1_);
  child("norm2", norm2_);
}

Variable TransformerEncoderLayer::operator()(const Variable& x, const Mask& mask,
                                             const Pass& pass) const {
  Variable y = residual(
      options_, x, norm1_,
      [&](const Variable& in) { return self_.self(in, {.mask = mask, .pass = pass}).context; },
      pass, ".residual1");
  return residual(
      options_, y, norm2_, [&](const Variable& in) { return feed_forward_(in, pass); }, pass,
      ".residual2");
}

TransformerDecoderLayer::TransformerDecoderLayer(const TransformerLayerOptions& o)
    : options_(o),
      self_(attention(o, o.width, ".self")),
      cross_(attention(o, o.memory, ".cross")),
      feed_forward_(o),
      norm1_({.size = o.width}),
      norm2_({.size = o.width}),
      norm3_({.size = o.width}) {
  child("self_attn", self_);
  child("multihead_attn", cross_);
  child("", feed_forward_);
  child("norm1", norm1_);
  child("norm2", norm2_);
  child("norm3", norm3_);
}

template <class Self, class Cross>
Variable TransformerDecoderLayer::around(const Variable& x, Self&& self, Cross&& cross,
                                         const Pass& pass) const {
  Variable y = residual(options_, x, norm1_, self, pass, ".residual1");
  y = residual(options_, y, norm2_, cross, pass, ".residual2");
  return residual(
      options_, y, norm3_, [&](const Variable& in) { return feed_forward_(in, pass); }, pass,
      ".residual3");
}

Variable TransformerDecoderLayer::operator()(const Variable& x, const Variable& prepared,
                                             const Mask& memory, const Pass& pass) const {
  return around(
      x,
      [&](const Variable& in) {
        return self_.self(in, {.mask = Mask::causal(), .pass = pass}).context;
      },
      [&](const Variable& in) {
        return cross_.cross(in, prepared, {.mask = memory, .pass = pass}).context;
      },
      pass);
}

Attended TransformerDecoderLayer::next(const Variable& x, Past& past, int64_t layer,
                                       const Variable& prepared, const Mask& memory,
                                       std::span<const int64_t> memory_rows) const {
  Variable weights;
  Variable y = around(
      x, [&](const Variable& in) { return self_.next(in, past, layer); },
      [&](const Variable& in) {
        Attended out =
            cross_.cross(in, prepared,
                         {.mask = memory, .pass = {}, .weights = true, .memory_rows = memory_rows});
        weights = out.weights;
        return out.context;
      },
      {});
  return {y, weights};
}

}  // namespace lookback
