#include "models/recurrent_encoder.h"

namespace lookback {

void read(Section& section, RecurrentEncoder::Options& o) {
  section.read_choice("cell", o.cell, cells().names());
  section.read("embedding", o.embedding, between(1, 65536));
  section.read("hidden", o.hidden, between(1, 65536));
  section.read("layers", o.layers, between(1, 64));
  section.read("bidirectional", o.bidirectional);
  section.read("reversed", o.reversed);
  if (o.reversed && o.bidirectional)
    section.refuse("reversed", "a bidirectional encoder reads from both ends already");
  section.read("dropout", o.dropout, from_below(0, 1));
  section.read("variational", o.variational);
}

RecurrentEncoder::RecurrentEncoder(const Options& o, int64_t words)
    : options_(o),
      embedding_({.words = words, .size = o.embedding, .scaled = o.scaled_vectors}),
      rnn_({.cell = o.cell,
            .input = o.embedding,
            .hidden = o.hidden,
            .layers = o.layers,
            .bidirectional = o.bidirectional,
            .reversed = o.reversed,
            .dropout = o.dropout,
            .variational = o.variational,
            .site = "encoder"}) {
  child("embedding", embedding_);
  child("rnn", rnn_);
}

MemoryShape RecurrentEncoder::memory_shape(const Options& o) {
  return {
      .states = o.hidden * (o.bidirectional ? 2 : 1), .layers = o.layers, .embedding = o.embedding};
}

Memory RecurrentEncoder::encode(const Variable& vectors, const Lengths& lengths,
                                const Pass& pass) const {
  Variable embedded =
      drop(vectors, Dropout{options_.dropout, options_.variational}, pass, "encoder.embedding");
  Recurrent::Output out = rnn_(embedded, lengths, {}, pass);
  return {.states = out.states,
          .mask = Mask::from_lengths(lengths, vectors.size(1)),
          .last = std::move(out.last),
          .prepared = {}};
}

}  // namespace lookback
