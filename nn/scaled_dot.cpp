#include "nn/scaled_dot.h"

#include <cmath>

namespace lookback {
namespace {
int64_t units(const ScaledDotAttention::Options& options, const Attention::Sizes& sizes) {
  return options.units > 0 ? options.units : sizes.query;
}
}  // namespace

void read(Section& section, ScaledDotAttention::Options& options) {
  section.read_or_auto("units", options.units, between(1, 65536));
}

ScaledDotAttention::ScaledDotAttention(const Options& options, const Sizes& sizes)
    : DotProductAttention(1 / std::sqrt(static_cast<double>(units(options, sizes)))),
      query_({.inputs = sizes.query, .outputs = units(options, sizes), .bias = false}),
      key_({.inputs = sizes.values, .outputs = units(options, sizes), .bias = false}),
      value_({.inputs = sizes.values, .outputs = sizes.values, .bias = false}) {
  child("query", query_);
  child("key", key_);
  child("value", value_);
}

Attention::Keys ScaledDotAttention::prepare(const Variable& values, const Mask& mask) const {
  return {key_(values), value_(values), mask};
}

}  // namespace lookback
