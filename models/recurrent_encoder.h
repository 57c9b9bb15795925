#pragma once

#include "core/config.h"
#include "models/encoder_decoder.h"
#include "nn/embedding.h"
#include "nn/recurrent.h"

namespace lookback {

/// Embeds the source and reads it with one or more recurrent layers (the tutorial's
/// definition 2.4.1): source (B, S) -> states (B, S, D), or (B, S, 2D) in both directions.
/// Parameters: `embedding.weight`, `rnn.weight_ih_l0`, ...
class RecurrentEncoder final : public Encoder {
 public:
  struct Options {
    std::string cell = "gru";
    int64_t embedding = 64;
    int64_t hidden = 128;
    int64_t layers = 1;
    bool bidirectional = false;
    bool reversed = false;        ///< reads from the end (Sutskever et al., 2014, section 3.3)
    double dropout = 0;           ///< on embeddings and between layers
    bool variational = false;     ///< Dropout::variational
    bool scaled_vectors = false;  ///< Embedding::Options::scaled; not a key: follows from tying
  };
  RecurrentEncoder(const Options& options, int64_t words);

  Variable embed(const IdMatrix& source) const override { return embedding_.by_word(source); }
  Memory encode(const Variable& vectors, const Lengths& lengths, const Pass& pass) const override;
  Variable word_vectors() const override { return embedding_.weight(); }
  static MemoryShape memory_shape(const Options& options);

 private:
  Options options_;
  Embedding embedding_;
  Recurrent rnn_;
};

void read(Section& section, RecurrentEncoder::Options& options);

}  // namespace lookback
