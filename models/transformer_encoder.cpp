#include "models/transformer_encoder.h"

#include "core/error.h"

namespace lookback {

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
  return {.states = states(x, mask, pass), .mask = mask, .last = {}, .prepared = {}};
}

}  // namespace lookback
