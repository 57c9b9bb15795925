#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "autograd/ops.h"
#include "autograd/past.h"
#include "models/batch.h"
#include "nn/attention.h"
#include "nn/cell.h"

namespace lookback {

/// What an encoder tells about its memory before there is one, so that a decoder can be fitted to
/// it.
struct MemoryShape {
  int64_t states = 0;  ///< units of one encoder state
  int64_t layers = 0;  ///< how many last states there are; 0 where the encoder is not recurrent
  int64_t embedding =
      0;  ///< units of its word vectors, which a decoder may share; 0 where it has none
};

/// What the encoder leaves for the decoder: all that step() may look back at. A value; nothing is
/// kept anywhere else.
struct Memory {
  Variable states;              ///< (B, S, MemoryShape::states), zero at padding
  Mask mask;                    ///< (B, S), true at real tokens
  std::vector<CellState> last;  ///< a layer each, (B, states): where each sentence ended
  /// What the decoder worked out of it once a batch (projected keys and the like), (B, ...) each.
  std::vector<Variable> prepared;

  /// The sentence that each row of a step looks at, where Decoder::shares_memory(); empty: row i looks
  /// at sentence i. So hypotheses of one sentence share what there is of it.
  std::vector<int64_t> sentence_of = {};

  int64_t batch() const {
    return sentence_of.empty() ? states.size(0) : static_cast<int64_t>(sentence_of.size());
  }
  /// The memory of these sentences, in this order; one may come several times. Without history.
  Memory take(std::span<const int64_t> sentences) const;
};

/// What a decoder carries from token to token: tensors whose first dimension is B, and keys and values
/// that stay where they are.
struct DecoderState {
  std::vector<Variable> parts = {};
  Past past = {};

  DecoderState take(std::span<const int64_t> sentences) const;  ///< as Memory::take
  int64_t bytes() const;                                        ///< that its tensors hold
};

/// One token's worth of decoding.
struct Step {
  Variable logits;  ///< (B, V)
  /// Attention weights, (B, layers, heads, S); a recurrent decoder has one layer and one head.
  /// Undefined without attention.
  Variable weights;
  DecoderState state;
};

class Encoder : public Module {
 public:
  /// Looks the tokens up: source (B, S) -> word vectors (B, S, E).
  virtual Variable embed(const IdMatrix& source) const = 0;
  /// Word vectors (B, S, E), which embed() gave or which were changed since -> Memory. What stands
  /// in padding counts for nothing.
  virtual Memory encode(const Variable& vectors, const Lengths& lengths,
                        const Pass& pass) const = 0;
  /// Tokens that a sentence may have, end mark included; -1 where there is no limit.
  virtual int64_t max_positions() const { return -1; }
  /// The table of word vectors, for a decoder to share; undefined where there is none.
  virtual Variable word_vectors() const { return {}; }
};

class Decoder : public Module {
 public:
  /// Works out, once a batch, what does not depend on the decoder's state.
  virtual void prepare(Memory& memory) const { (void)memory; }
  virtual DecoderState start(const Memory& memory) const = 0;
  /// The token before -> logits of the next one. previous (B).
  virtual Step step(std::span<const Id> previous, const DecoderState& state,
                    const Memory& memory) const = 0;
  /// Teacher forcing: all steps over the given inputs (B, T) -> logits (B, T, V). At real tokens
  /// equal to repeated step(), which tests hold it to; at padding the logits mean nothing. A decoder
  /// overrides this or output().
  virtual Variable forward(const IdMatrix& inputs, const Lengths& lengths, const Memory& memory,
                           const Pass& pass) const;
  /// The same up to the last product, for a decoder that ends in one: forward() follows from it,
  /// and training need not hold the logits of a whole batch.
  virtual std::optional<LinearLogits> output(const IdMatrix& inputs, const Lengths& lengths,
                                             const Memory& memory, const Pass& pass) const;
  /// Whether step() heeds Memory::sentence_of.
  virtual bool shares_memory() const { return false; }
  /// Steps that a sentence may have, the one that says the end mark included; -1: no limit.
  virtual int64_t max_positions() const { return -1; }
};

/// An encoder and a decoder that looks at its memory.
class EncoderDecoder final : public Module {
 public:
  EncoderDecoder(std::unique_ptr<Encoder> encoder, std::unique_ptr<Decoder> decoder);

  Memory encode(const IdMatrix& source, const Lengths& lengths, const Pass& pass = {}) const;
  /// The two halves of encode(): whoever asks how much a source position matters takes a gradient
  /// at, or changes, the word vectors between them.
  Variable embed(const IdMatrix& source) const { return encoder_->embed(source); }
  Memory encode(const Variable& vectors, const Lengths& lengths, const Pass& pass = {}) const;
  DecoderState start(const Memory& memory) const { return decoder_->start(memory); }
  Step step(std::span<const Id> previous, const DecoderState& state, const Memory& memory) const {
    return decoder_->step(previous, state, memory);
  }
  bool shares_memory() const { return decoder_->shares_memory(); }
  int64_t max_source_positions() const { return encoder_->max_positions(); }
  int64_t max_target_positions() const { return decoder_->max_positions(); }
  /// Logits (B, T, V) under teacher forcing.
  Variable forward(const Batch& batch, const Pass& pass = {}) const;
  /// The same from a memory of the batch's sources that is at hand.
  Variable forward(const Batch& batch, const Memory& memory, const Pass& pass = {}) const;
  /// cross_entropy of the batch's targets under teacher forcing: through the decoder's output()
  /// where it has one, else from its logits.
  TokenLoss loss(const Batch& batch, const CrossEntropyOptions& options,
                 const Pass& pass = {}) const;

 private:
  std::unique_ptr<Encoder> encoder_;
  std::unique_ptr<Decoder> decoder_;
};

}  // namespace lookback
