#pragma once

#include "core/config.h"
#include "models/encoder_decoder.h"
#include "nn/embedding.h"
#include "nn/linear.h"
#include "nn/output_layer.h"
#include "nn/recurrent.h"

namespace lookback {

/// A recurrent decoder, with one of two ways to know the source:
///
/// *Fixed context* (the tutorial's definition 2.4.1), without an attention, c the encoder's last state:
///     s_t = cell(y_(t-1), s_(t-1))
///     p(y_t) = softmax(W_o [s_t; c])
/// *Attention* (definition 2.4.2), the query being the state before the step:
///     c_t = attention(s_(t-1), h)
///     s_t = cell([y_(t-1); c_t], s_(t-1))
///     p(y_t) = softmax(W_o [s_t; c_t])
///
/// Parameters: `embedding.weight`, `rnn.weight_ih_l0` ..., `attention.*`, `bridge.*`,
/// `output.weight` (V, D + states) and `output.bias`.
class RecurrentDecoder final : public Decoder {
 public:
  struct Options {
    std::string cell = "gru";
    int64_t embedding = 64;
    int64_t hidden = 128;
    int64_t layers = 1;
    double dropout = 0;  ///< on embeddings, between layers and before the output layer
    /// Where s_0 comes from. `last`: layer l starts at the encoder's last state of layer l, unchanged;
    /// an LSTM's cell starts at zero where the encoder's kind has none. `bridge`: tanh(W h + b) of it,
    /// for any sizes. `zero`.
    std::string initial_state = "last";
    bool tie = false;  ///< the output layer's weight is the table of word vectors
  };
  /// `attention` may be null: fixed context. `vectors`: a table of word vectors to share, or
  /// undefined.
  RecurrentDecoder(const Options& options, const MemoryShape& memory,
                   std::unique_ptr<Attention> attention, int64_t words,
                   const Variable& vectors = {});

  void prepare(Memory& memory) const override;
  DecoderState start(const Memory& memory) const override;
  Step step(std::span<const Id> previous, const DecoderState& state,
            const Memory& memory) const override;
  Variable forward(const IdMatrix& inputs, const Lengths& lengths, const Memory& memory,
                   const Pass& pass) const override;

 private:
  Attention::Keys keys(const Memory& memory) const;
  std::vector<CellState> states(const DecoderState& state) const;
  DecoderState pack(const std::vector<CellState>& states) const;
  std::vector<CellState> initial(const Memory& memory) const;
  Attended advance(const Cell::Steps& first, int64_t t, std::vector<CellState>& states,
                   const Memory& memory, const Pass& pass) const;
  Variable fixed_context_logits(const Variable& states, const Memory& memory,
                                const Pass& pass) const;
  Variable attention_forward(const Variable& embedded, const Memory& memory,
                             const Pass& pass) const;

  Options options_;
  MemoryShape memory_;
  std::unique_ptr<Attention> attention_;
  Embedding embedding_;
  Recurrent rnn_;
  std::vector<std::unique_ptr<Linear>> hidden_bridges_, cell_bridges_;
  OutputLayer output_;
};

/// Reads the options and holds them against the memory: `initial_state: last` needs equal sizes.
void read(Section& section, RecurrentDecoder::Options& options, const MemoryShape& memory);

}  // namespace lookback
