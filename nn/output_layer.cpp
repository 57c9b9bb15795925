#include "nn/output_layer.h"

#include <cmath>

#include "autograd/ops.h"
#include "core/error.h"

namespace lookback {

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

Variable OutputLayer::operator()(const Variable& features) const {
  return linear(features, weight_, bias_);
}

}  // namespace lookback
