#pragma once

#include <string>
#include <vector>

#include "core/error.h"

namespace lookback::testing {

/// A model with a Transformer on one side or both, as its config says it.
struct TransformerKind {
  std::string name;
  std::string encoder, decoder;    ///< what the sections hold, in one line
  std::string rest = "";           ///< further keys of `model`, in one line each
  bool recurrent_decoder = false;  ///< one layer and one head of weights
  bool tied_to_source = false;     ///< the encoder's table is the output layer's weight

  std::string yaml() const {
    return format("model:\n  encoder: {{{}}}\n  decoder: {{{}}}\n{}", encoder, decoder, rest);
  }
};

/// One layer, several, both places of the norm, both activations, all kinds of positions, heads
/// that share keys, either way of attention, tied tables, and models of two families. `width` is a
/// multiple of 4.
inline std::vector<TransformerKind> transformer_kinds(int64_t width, double dropout) {
  std::string size = format("type: transformer, width: {}, feed_forward: {}, dropout: {}", width,
                            width + 1, dropout);
  auto transformer = [&](const std::string& more) { return size + ", " + more; };
  auto both = [&](const std::string& name, const std::string& more, const std::string& rest = "") {
    return TransformerKind{name, transformer(more), transformer(more), rest};
  };
  std::string recurrent = format("cell: gru, embedding: 3, hidden: 5, dropout: {}", dropout);
  std::vector<TransformerKind> out{
      both("pre-norm", "heads: 2, layers: 2"),
      both("post-norm", "heads: 2, layers: 2, norm: post, bias: false"),
      both("grouped queries, learned positions, gelu",
           "heads: 4, key_value_heads: 2, layers: 1, positions: learned, max_positions: 40, "
           "activation: gelu"),
      both("one key-value head, block by block, no positions",
           "heads: 4, key_value_heads: 1, layers: 2, norm: post, attention_way: blockwise, "
           "positions: none"),
      both("tied in the decoder", "heads: 1, layers: 1", "  tie_embeddings: decoder\n"),
      both("all tied", "heads: 2, layers: 1, norm: post", "  tie_embeddings: all\n"),
      {"recurrent encoder, Transformer decoder", recurrent + ", bidirectional: true",
       transformer("heads: 4, key_value_heads: 2, layers: 2")},
      {"Transformer encoder, recurrent decoder", transformer("heads: 2, layers: 2"),
       recurrent + ", initial_state: zero", "  attention: {type: bahdanau}\n"},
  };
  out[5].tied_to_source = true;
  out[7].recurrent_decoder = true;
  return out;
}

}  // namespace lookback::testing
