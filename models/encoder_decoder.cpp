#include "models/encoder_decoder.h"

namespace lookback {

EncoderDecoder::EncoderDecoder(std::unique_ptr<Encoder> encoder, std::unique_ptr<Decoder> decoder)
    : encoder_(std::move(encoder)), decoder_(std::move(decoder)) {
  child("encoder", *encoder_);
  child("decoder", *decoder_);
}

Memory EncoderDecoder::encode(const IdMatrix& source, const Lengths& lengths,
                              const Pass& pass) const {
  Memory memory = encoder_->encode(source, lengths, pass);
  decoder_->prepare(memory);
  return memory;
}

Variable EncoderDecoder::forward(const Batch& batch, const Pass& pass) const {
  Memory memory = encode(batch.source, batch.source_lengths, pass);
  return decoder_->forward(batch.decoder_input, batch.target_lengths, memory, pass);
}

}  // namespace lookback
