#include "models/encoder_decoder.h"

#include "core/error.h"
#include "nn/output_layer.h"

namespace lookback {

namespace {
Variable rows_of(const Variable& x, std::span<const int64_t> sentences) {
  return x.defined() ? Variable(x.value().take(sentences)) : x;
}
}  // namespace

Memory Memory::take(std::span<const int64_t> sentences) const {
  if (!sentence_of.empty()) fail("[memory] rows that share sentences cannot be taken again");
  Memory out{.states = rows_of(states, sentences),
             .mask = mask.take(sentences),
             .last = {},
             .prepared = {}};
  for (const CellState& state : last)
    out.last.push_back({rows_of(state.hidden, sentences), rows_of(state.cell, sentences)});
  for (const Variable& part : prepared) out.prepared.push_back(rows_of(part, sentences));
  return out;
}

DecoderState DecoderState::take(std::span<const int64_t> sentences) const {
  DecoderState out;
  for (const Variable& part : parts) out.parts.push_back(rows_of(part, sentences));
  out.past = past.take(sentences);
  return out;
}

int64_t DecoderState::bytes() const {
  int64_t count = 0;
  for (const Variable& part : parts) count += part.count();
  return count * static_cast<int64_t>(sizeof(Real)) + past.bytes();
}

Variable Decoder::forward(const IdMatrix& inputs, const Lengths& lengths, const Memory& memory,
                          const Pass& pass) const {
  std::optional<LinearLogits> pending = output(inputs, lengths, memory, pass);
  if (!pending)
    fail("[decoder] a decoder must override forward() or output(), and this one has neither");
  return logits(*pending);
}

std::optional<LinearLogits> Decoder::output(const IdMatrix&, const Lengths&, const Memory&,
                                            const Pass&) const {
  return {};
}

EncoderDecoder::EncoderDecoder(std::unique_ptr<Encoder> encoder, std::unique_ptr<Decoder> decoder)
    : encoder_(std::move(encoder)), decoder_(std::move(decoder)) {
  child("encoder", *encoder_);
  child("decoder", *decoder_);
}

Memory EncoderDecoder::encode(const IdMatrix& source, const Lengths& lengths,
                              const Pass& pass) const {
  return encode(encoder_->embed(source), lengths, pass);
}

Memory EncoderDecoder::encode(const Variable& vectors, const Lengths& lengths,
                              const Pass& pass) const {
  Memory memory = encoder_->encode(vectors, lengths, pass);
  decoder_->prepare(memory);
  return memory;
}

Variable EncoderDecoder::forward(const Batch& batch, const Pass& pass) const {
  return forward(batch, encode(batch.source, batch.source_lengths, pass), pass);
}

Variable EncoderDecoder::forward(const Batch& batch, const Memory& memory, const Pass& pass) const {
  return decoder_->forward(batch.decoder_input, batch.target_lengths, memory, pass);
}

TokenLoss EncoderDecoder::loss(const Batch& batch, const CrossEntropyOptions& options,
                               const Pass& pass) const {
  Memory memory = encode(batch.source, batch.source_lengths, pass);
  if (std::optional<LinearLogits> pending =
          decoder_->output(batch.decoder_input, batch.target_lengths, memory, pass))
    return linear_cross_entropy(*pending, batch.target, options);
  Variable logits = forward(batch, memory, pass);
  TokenLoss out{.loss = cross_entropy(logits, batch.target, options), .nll = {}};
  CrossEntropyOptions plain = options;
  plain.label_smoothing = 0;
  NoGrad no_history;
  out.nll =
      options.label_smoothing > 0 ? cross_entropy(logits, batch.target, plain) : out.loss.detach();
  return out;
}

}  // namespace lookback
