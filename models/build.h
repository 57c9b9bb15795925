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
using EncoderFactory = std::function<EncoderPlan(Section& encoder)>;
/// The encoders that `model.encoder.type` may name: recurrent, and what a program adds.
Registry<EncoderFactory>& encoders();

using DecoderMaker = std::function<std::unique_ptr<Decoder>(int64_t words)>;
/// A decoder reads its own section and, where it has one, `attention` of the whole model's.
using DecoderFactory =
    std::function<DecoderMaker(Section& decoder, Section& model, const MemoryShape&)>;
Registry<DecoderFactory>& decoders();

/// A whole model, read and checked, but not yet built: vocabularies come later.
using ModelMaker =
    std::function<std::unique_ptr<EncoderDecoder>(int64_t source_words, int64_t target_words)>;
/// Reads the section `model` of a config.
ModelMaker read_model(Section& model);

}  // namespace lookback
