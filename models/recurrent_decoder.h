#pragma once

#include "core/config.h"
#include "models/encoder_decoder.h"
#include "nn/embedding.h"
#include "nn/linear.h"
#include "nn/output_layer.h"
#include "nn/recurrent.h"

namespace lookback {

/// A recurrent decoder, with one of four ways to know the source. y_(t-1) is the vector of the word
/// before, h the encoder's states, s_t the state of the last layer.
///
/// *Fixed context* (the tutorial's definition 2.4.1), without an attention, c the encoder's last state:
///     s_t = cell(y_(t-1), s_(t-1))
///     p(y_t) = softmax(W_o [s_t; c])
/// *Attention before the step* (definition 2.4.2; Bahdanau et al., 2015), `query: previous`:
///     c_t = attention(s_(t-1), h)
///     s_t = cell([y_(t-1); c_t], s_(t-1))
///     p(y_t) = softmax(W_o [s_t; c_t])
/// *Attention after the step* (Luong et al., 2015), `query: current`. No step waits for another's
/// attention, so under teacher forcing all are worked out at once:
///     s_t = cell(y_(t-1), s_(t-1))
///     c_t = attention(s_t, h)
///     h~_t = tanh(W_c [c_t; s_t])
///     p(y_t) = softmax(W_o h~_t)
/// *The same with input feeding* (section 3.3 of that paper), so that a step knows where the one
/// before looked; only the cell's input differs, h~_0 = 0:
///     s_t = cell([y_(t-1); h~_(t-1)], s_(t-1))
///
/// Parameters: `embedding.weight`, `rnn.weight_ih_l0` ..., `attention.*`, `attentional.weight` W_c
/// (D, states + D), `bridge.*`, `output.weight` (V, features) and `output.bias`.
class RecurrentDecoder final : public Decoder {
 public:
  struct Options {
    std::string cell = "gru";
    int64_t embedding = 64;
    int64_t hidden = 128;
    int64_t layers = 1;
    double dropout = 0;        ///< on embeddings, between layers and before the output layer
    bool variational = false;  ///< Dropout::variational
    /// Where s_0 comes from. `last`: layer l starts at the encoder's last state of layer l, unchanged;
    /// an LSTM's cell starts at zero where the encoder's kind has none. `bridge`: tanh(W h + b) of it,
    /// for any sizes. `zero`.
    std::string initial_state = "last";
    bool tie = false;  ///< the output layer's weight is the table of word vectors
    // In the section `attention`:
    std::string query = "previous";  ///< which state asks: s_(t-1), `previous`, or s_t, `current`
    bool input_feeding = false;      ///< needs `current`
  };
  /// `attention` may be null: fixed context. `vectors`: a table of word vectors to share, or
  /// undefined.
  RecurrentDecoder(const Options& options, const MemoryShape& memory,
                   std::unique_ptr<Attention> attention, int64_t words,
                   const Variable& vectors = {});

  /// Numbers that the output layer reads: D with `query: current`, else D + states.
  static int64_t features(const Options& options, const MemoryShape& memory);

  void prepare(Memory& memory) const override;
  DecoderState start(const Memory& memory) const override;
  Step step(std::span<const Id> previous, const DecoderState& state,
            const Memory& memory) const override;
  std::optional<LinearLogits> output(const IdMatrix& inputs, const Lengths& lengths,
                                     const Memory& memory, const Pass& pass) const override;

 private:
  /// What a step starts from.
  struct Moment {
    std::vector<CellState> layers;
    Variable fed;  // h~ of the step before, (B, D), with input feeding
    const Variable& top() const { return layers.back().hidden; }
  };
  Moment unpack(const DecoderState& state) const;
  DecoderState pack(const Moment& moment) const;
  Moment initial(const Memory& memory) const;

  Attention::Keys keys(const Memory& memory) const;
  bool asks_after_step() const { return options_.query == "current"; }
  Dropout dropout() const { return {options_.dropout, options_.variational}; }
  /// In a loop W_c may be laid out before.
  Variable attentional(const Variable& context, const Variable& state,
                       const SharedWeight* laid_out = nullptr) const;

  // Teacher forcing, one function a way; in recurrent_decoder_forward.cpp.
  using Loop = std::vector<std::unique_ptr<Cell::Steps>>;  // a layer each
  Loop loop(const Variable& embedded) const;
  void advance(const Loop& loop, int64_t t, const Variable& late, std::vector<CellState>& states,
               const Pass& pass) const;
  Variable all_states(const Variable& embedded, const Lengths& lengths, const Memory& memory,
                      const Pass& pass) const;
  LinearLogits fixed_context_logits(const Variable& states, const Memory& memory,
                                    const Pass& pass) const;
  Variable attend_before(const Variable& embedded, const Memory& memory, const Pass& pass) const;
  Variable attend_after(const Variable& states, const Memory& memory) const;
  Variable attend_and_feed(const Variable& embedded, const Memory& memory, const Pass& pass) const;

  Options options_;
  MemoryShape memory_;
  std::unique_ptr<Attention> attention_;
  Embedding embedding_;
  Recurrent rnn_;
  std::unique_ptr<Linear> attentional_;  // W_c, where the query is the current state
  std::vector<std::unique_ptr<Linear>> hidden_bridges_, cell_bridges_;
  OutputLayer output_;
};

/// Reads the options and holds them against the memory: `initial_state: last` needs equal sizes.
void read(Section& section, RecurrentDecoder::Options& options, const MemoryShape& memory);
/// Reads the decoder's part of the section `attention`: `query` and `input_feeding`.
void read_attending(Section& attention, RecurrentDecoder::Options& options);

}  // namespace lookback
