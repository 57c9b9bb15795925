#include "models/transformer_encoder.h"

#include <algorithm>

#include "autograd/ops.h"
#include "core/error.h"

namespace lookback {
namespace {

/// x (B, S, D), zero where the mask is false.
Variable without_padding(const Variable& x, const Mask& mask) {
  int64_t rows = mask.rows() * mask.columns();
  std::span<const uint8_t> real(mask.row(0), static_cast<size_t>(rows));
  if (std::find(real.begin(), real.end(), 0) == real.end()) return x;
  Variable flat = reshape(x, {rows, x.size(2)});
  return reshape(choose_rows(real, flat, Tensor::zeros(flat.shape())), x.shape());
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

Memory TransformerEncoder::encode(const Variable& vectors, const Lengths& lengths,
                                  const Pass& pass) const {
  Mask mask = Mask::from_lengths(lengths, vectors.size(1));
  // No real position looks at a padded one; but every weight's gradient sums over all of them, and 0
  // times what stands in the padding is only 0 where that is a number.
  Variable x = positions_(without_padding(vectors, mask), lengths, pass);
  x = drop(x, options_.dropout, pass, "encoder.embedding");
  return {.states = without_padding(states(x, mask, pass), mask),
          .mask = mask,
          .last = {},
          .prepared = {}};
}

}  // namespace lookback
