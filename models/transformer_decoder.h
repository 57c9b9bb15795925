#pragma once

#include "models/encoder_decoder.h"
#include "models/transformer_options.h"
#include "nn/embedding.h"
#include "nn/output_layer.h"

namespace lookback {

/// The decoder of a Transformer (Vaswani et al., 2017): word vectors, positions, layers of causal
/// self-attention and cross-attention, a last normalisation, an output layer. Parameters:
/// `embedding.weight`, `positions.weight` (learned), `layers.0...` and `norm.*` as in
/// torch.nn.Transformer, `output.weight` (unless tied), `output.bias`.
///
/// step() does one token's work and keeps no history: DecoderState::past holds, a layer each, the keys
/// and values of the tokens so far.
class TransformerDecoder final : public Decoder {
 public:
  /// `vectors`: a table of word vectors to share, or undefined. `tie`: the output layer's weight is
  /// the table.
  TransformerDecoder(const TransformerOptions& options, const MemoryShape& memory, bool tie,
                     int64_t words, const Variable& vectors);

  void prepare(Memory& memory) const override;
  DecoderState start(const Memory& memory) const override;
  Step step(std::span<const Id> previous, const DecoderState& state,
            const Memory& memory) const override;
  std::optional<LinearLogits> output(const IdMatrix& inputs, const Lengths& lengths,
                                     const Memory& memory, const Pass& pass) const override;
  /// All layers and the last normalisation over word vectors, x (B, T, D); `memory` prepared.
  Variable states(const Variable& x, const Memory& memory, const Pass& pass) const;
  bool shares_memory() const override { return true; }
  int64_t max_positions() const override { return positions_.limit(); }

 private:
  TransformerOptions options_;
  Embedding embedding_;
  Positions positions_;
  std::vector<std::unique_ptr<TransformerDecoderLayer>> layers_;
  LayerNorm norm_;
  OutputLayer output_;
};

}  // namespace lookback
