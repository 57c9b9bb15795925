#include "nn/scaled_dot.h"

#include <cmath>

namespace lookback {

void read(Section& section, ScaledDotAttention::Options& options) {
  section.read_or_auto("units", options.units, between(1, 65536));
}

ScaledDotAttention::ScaledDotAttention(const Options& options, const Sizes& sizes)
    : DotProductAttention(1 / std::sqrt(static_cast<double>(sizes.resolved(options.units)))),
      query_({.inputs = sizes.query, .outputs = sizes.resolved(options.units), .bias = false}),
      key_({.inputs = sizes.values, .outputs = sizes.resolved(options.units), .bias = false}),
      value_({.inputs = sizes.values, .outputs = sizes.values, .bias = false}) {
  child("query", query_);
  child("key", key_);
  child("value", value_);
}

Attention::Keys ScaledDotAttention::prepare(const Variable& values, const Mask& mask) const {
  return {key_(values), value_(values), mask};
}

}  // namespace lookback
