#include "nn/bahdanau.h"

namespace lookback {

void read(Section& section, BahdanauAttention::Options& options) {
  section.read_or_auto("units", options.units, between(1, 65536));
}

BahdanauAttention::BahdanauAttention(const Options& options, const Sizes& sizes)
    : query_({.inputs = sizes.query, .outputs = sizes.resolved(options.units), .bias = false}),
      key_({.inputs = sizes.values, .outputs = sizes.resolved(options.units), .bias = false}) {
  child("query", query_);
  child("key", key_);
  make_v(sizes.resolved(options.units));
}

Attention::Keys BahdanauAttention::prepare(const Variable& values, const Mask& mask) const {
  return {key_(values), values, mask};
}

}  // namespace lookback
