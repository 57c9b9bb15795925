#pragma once

#include <functional>
#include <memory>

#include "core/registry.h"
#include "models/encoder_decoder.h"

namespace lookback {

/// An encoder as its section of the config describes it, before the vocabulary is known.
struct EncoderPlan {
  MemoryShape memory;
  std::function<std::unique_ptr<Encoder>(int64_t words)> make;
};
/// An encoder reads its own section and what concerns both sides (`random_offset`, `tie_embeddings`) in the model's.
using EncoderFactory = std::function<EncoderPlan(Section& encoder, Section& model)>;
/// The encoders that `model.encoder.type` may name: recurrent, transformer, and what a program adds.
Registry<EncoderFactory>& encoders();

/// `model.tie_embeddings`: which tables of word vectors are one.
enum class Tie {
  kNone,
  kDecoder,  ///< the decoder's word vectors are its output layer's weight
  kAll       ///< and the encoder's word vectors too
};
/// What a decoder is fitted to.
struct DecoderSetting {
  MemoryShape memory;
  Tie tie = Tie::kNone;
};
/// `source_vectors`: the encoder's table, undefined unless all are tied.
using DecoderMaker =
    std::function<std::unique_ptr<Decoder>(int64_t words, const Variable& source_vectors)>;
/// A decoder reads its own section and, where it has one, `attention` of the whole model's.
using DecoderFactory =
    std::function<DecoderMaker(Section& decoder, Section& model, const DecoderSetting&)>;
Registry<DecoderFactory>& decoders();

/// A whole model, read and checked, but not yet built: vocabularies come later.
using ModelMaker =
    std::function<std::unique_ptr<EncoderDecoder>(int64_t source_words, int64_t target_words)>;
/// Reads the section `model` of a config. `one_vocabulary`: both sides of the data share theirs,
/// which `tie_embeddings: all` needs.
ModelMaker read_model(Section& model, bool one_vocabulary);

/// Refuses `tie_embeddings` of a decoder whose word vectors (E units) do not fit its output layer's
/// inputs, or, where all are tied, the encoder's word vectors. `inputs_are` says what the inputs
/// are made of.
void check_tie(Section& model, const DecoderSetting& setting, int64_t embedding,
               int64_t output_inputs, const std::string& inputs_are);

}  // namespace lookback
