#pragma once

#include "models/encoder_decoder.h"
#include "models/transformer_options.h"
#include "nn/embedding.h"

namespace lookback {

/// The encoder of a Transformer (Vaswani et al., 2017): word vectors, positions, layers of
/// self-attention, a last normalisation: source (B, S) -> states (B, S, D). Parameters:
/// `embedding.weight`, `positions.weight` (learned), and as in torch.nn.Transformer
/// `layers.0.self_attn.in_proj_weight` ..., `norm.weight`, `norm.bias`.
class TransformerEncoder final : public Encoder {
 public:
  TransformerEncoder(const TransformerOptions& options, int64_t words);

  Variable embed(const IdMatrix& source) const override { return embedding_(source); }
  Memory encode(const Variable& vectors, const Lengths& lengths, const Pass& pass) const override;
  /// The same from word vectors, x (B, S, D).
  Variable states(const Variable& x, const Mask& mask, const Pass& pass) const;
  int64_t max_positions() const override { return positions_.limit(); }
  Variable word_vectors() const override { return embedding_.weight(); }

 private:
  TransformerOptions options_;
  Embedding embedding_;
  Positions positions_;
  std::vector<std::unique_ptr<TransformerEncoderLayer>> layers_;
  LayerNorm norm_;
};

}  // namespace lookback
