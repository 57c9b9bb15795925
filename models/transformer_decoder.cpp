#include "models/transformer_decoder.h"

#include "autograd/ops.h"
#include "core/error.h"

namespace lookback {

TransformerDecoder::TransformerDecoder(const TransformerOptions& o, const MemoryShape& memory,
                                       bool tie, int64_t words, const Variable& vectors)
    : options_(o),
      embedding_({.words = words, .size = o.width, .scaled = true}, vectors),
      positions_(position_options(o)),
      norm_({.size = o.width}),
      output_({.inputs = o.width, .words = words}, tie ? embedding_.weight() : Variable()) {
  child("embedding", embedding_);
  child("positions", positions_);
  for (int64_t layer = 0; layer < o.layers; ++layer) {
    layers_.push_back(std::make_unique<TransformerDecoderLayer>(
        layer_options(o, "decoder", layer, memory.states)));
    child(format("layers.{}", layer), *layers_.back());
  }
  child("norm", norm_);
  child("output", output_);
}

void TransformerDecoder::prepare(Memory& memory) const {
  memory.prepared.clear();
  for (const auto& layer : layers_) memory.prepared.push_back(layer->prepare(memory.states));
}

Variable TransformerDecoder::states(const Variable& x, const Memory& memory,
                                    const Pass& pass) const {
  Variable y = x;
  for (size_t i = 0; i < layers_.size(); ++i)
    y = (*layers_[i])(y, memory.prepared.at(i), memory.mask, pass);
  return norm_(y);
}

std::optional<LinearLogits> TransformerDecoder::output(const IdMatrix& inputs,
                                                       const Lengths& lengths, const Memory& memory,
                                                       const Pass& pass) const {
  Variable x = drop(positions_(embedding_(inputs), lengths, pass), options_.dropout, pass,
                    "decoder.embedding");
  return output_.pending(states(x, memory, pass));
}

DecoderState TransformerDecoder::start(const Memory& memory) const {
  return {.parts = {}, .past = Past(options_.layers, memory.batch())};
}

Step TransformerDecoder::step(std::span<const Id> previous, const DecoderState& state,
                              const Memory& memory) const {
  IdMatrix ids(static_cast<int64_t>(previous.size()), 1, kPad);
  ids.values.assign(previous.begin(), previous.end());
  DecoderState next = state;
  Variable y = positions_.at(embedding_(ids), state.past.tokens(0));
  std::vector<Variable> weights;
  for (size_t i = 0; i < layers_.size(); ++i) {
    Attended out = layers_[i]->next(y, next.past, static_cast<int64_t>(i), memory.prepared.at(i),
                                    memory.mask, memory.sentence_of);
    y = out.context;
    weights.push_back(reshape(out.weights, {ids.rows, options_.heads, out.weights.size(3)}));
  }
  Variable logits = output_(norm_(y));
  return {reshape(logits, {ids.rows, logits.size(2)}), stack(weights, 1), next};
}

}  // namespace lookback
