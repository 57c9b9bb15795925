#include "models/transformer_encoder.h"

#include <algorithm>

#include "autograd/ops.h"
#include "core/error.h"

namespace lookback {
namespace {

/// x (B, S, D) with zeros at padding, whatever stands there.
Variable without_padding(const Variable& x, const Mask& mask) {
  std::vector<uint8_t> real;
  for (int64_t b = 0; b < mask.rows(); ++b)
    real.insert(real.end(), mask.row(b), mask.row(b) + mask.columns());
  if (std::ranges::all_of(real, [](uint8_t flag) { return flag != 0; })) return x;
  Shape flat{x.size(0) * x.size(1), x.size(2)};
  return reshape(choose_rows(real, reshape(x, flat), Tensor::zeros(flat)), x.shape());
}

}  // namespace

TransformerEncoder::TransformerEncoder(const TransformerOptions& o, int64_t words)
    : options_(o),
      embedding_({.words = words, .size = o.width, .scaled = true}),
      positions_(position_options(o)),
      norm_({.size = o.width}) {
  child("embedding", embedding_);
  child("positions", positions_);
  for (int64_t layer = 0; layer < o.layers; ++layer) {
    layers_.push_back(
        std::make_unique<TransformerEncoderLayer>(layer_options(o, "encoder", layer, o.width)));
    child(format("layers.{}", layer), *layers_.back());
  }
  child("norm", norm_);
}

Variable TransformerEncoder::states(const Variable& x, const Mask& mask, const Pass& pass) const {
  Variable y = x;
  for (const auto& layer : layers_) y = (*layer)(y, mask, pass);
  return norm_(y);
}

Memory TransformerEncoder::encode(const IdMatrix& source, const Lengths& lengths,
                                  const Pass& pass) const {
  Variable x = drop(positions_(embedding_(source), lengths, pass), options_.dropout, pass,
                    "encoder.embedding");
  Mask mask = Mask::from_lengths(lengths, source.columns);
  // Not read on the way in, for a gradient of 0 times NaN would be NaN; zero on the way out.
  Variable y = without_padding(states(without_padding(x, mask), mask, pass), mask);
  return {.states = y, .mask = mask, .last = {}, .prepared = {}};
}

}  // namespace lookback
