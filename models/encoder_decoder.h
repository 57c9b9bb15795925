#pragma once

#include <memory>
#include <span>
#include <vector>

#include "models/batch.h"
#include "nn/attention.h"
#include "nn/cell.h"

namespace lookback {

/// What an encoder tells about its memory before there is one, so that a decoder can be fitted to
/// it.
struct MemoryShape {
  int64_t states = 0;  ///< units of one encoder state
  int64_t layers = 0;  ///< how many last states there are; 0 where the encoder is not recurrent
};

/// What the encoder leaves for the decoder: all that step() may look back at. A value; nothing is
/// kept anywhere else.
struct Memory {
  Variable states;              ///< (B, S, MemoryShape::states), zero at padding
  Mask mask;                    ///< (B, S), true at real tokens
  std::vector<CellState> last;  ///< a layer each, (B, states): where each sentence ended
  Attention::Keys keys;         ///< what the decoder's attention prepared, if it has one

  int64_t batch() const { return states.size(0); }
};

/// What a decoder carries from token to token: tensors whose first dimension is B.
struct DecoderState {
  std::vector<Variable> parts;
};

/// One token's worth of decoding.
struct Step {
  Variable logits;   ///< (B, V)
  Variable weights;  ///< (B, S) attention weights; undefined without attention
  DecoderState state;
};

class Encoder : public Module {
 public:
  /// source (B, S) -> Memory.
  virtual Memory encode(const IdMatrix& source, const Lengths& lengths, const Pass& pass) const = 0;
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
  /// equal to repeated step(), which tests hold it to; at padding the logits mean nothing.
  virtual Variable forward(const IdMatrix& inputs, const Lengths& lengths, const Memory& memory,
                           const Pass& pass) const = 0;
};

/// An encoder and a decoder that looks at its memory.
class EncoderDecoder final : public Module {
 public:
  EncoderDecoder(std::unique_ptr<Encoder> encoder, std::unique_ptr<Decoder> decoder);

  Memory encode(const IdMatrix& source, const Lengths& lengths, const Pass& pass = {}) const;
  DecoderState start(const Memory& memory) const { return decoder_->start(memory); }
  Step step(std::span<const Id> previous, const DecoderState& state, const Memory& memory) const {
    return decoder_->step(previous, state, memory);
  }
  /// Logits (B, T, V) under teacher forcing.
  Variable forward(const Batch& batch, const Pass& pass = {}) const;

 private:
  std::unique_ptr<Encoder> encoder_;
  std::unique_ptr<Decoder> decoder_;
};

}  // namespace lookback
