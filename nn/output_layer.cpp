#include "nn/output_layer.h"

#include <cmath>

#include "core/error.h"

namespace lookback {

Variable logits(const LinearLogits& pending) {
  Variable product = linear(pending.x, pending.weight, pending.bias);
  if (!pending.base.defined()) return product;
  const Variable& base = pending.base;
  return product + reshape(base, {base.size(0), 1, base.size(1)});
}

OutputLayer::OutputLayer(const Options& o, const Variable& tied) : weight_(tied) {
  if (o.inputs < 1 || o.words < 1)
    fail("[output_layer] needs at least one input and one word, not {} and {}", o.inputs, o.words);
  Initializer draw = uniform(1 / std::sqrt(static_cast<double>(o.inputs)));
  if (!tied.defined())
    weight_ = parameter("weight", {o.words, o.inputs}, draw);
  else if (tied.shape() != Shape{o.words, o.inputs})
    fail("[output_layer] the tied table {} must be ({}, {}): words, inputs", tied.shape().text(),
         o.words, o.inputs);
  bias_ = parameter("bias", {o.words}, draw);
}

LinearLogits OutputLayer::pending(const Variable& features) const {
  return {.x = features, .weight = weight_, .bias = bias_, .base = {}};
}

}  // namespace lookback
