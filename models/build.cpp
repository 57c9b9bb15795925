#include "models/build.h"

#include "models/recurrent_decoder.h"
#include "models/recurrent_encoder.h"

namespace lookback {
namespace {

EncoderPlan recurrent_encoder(Section& section) {
  RecurrentEncoder::Options options;
  read(section, options);
  return {.memory = RecurrentEncoder::memory_shape(options), .make = [options](int64_t words) {
            return std::make_unique<RecurrentEncoder>(options, words);
          }};
}

/// Null for `none`: the decoder then sees one fixed context.
AttentionMaker read_attention(Section& model) {
  Section section = model.section("attention");
  std::vector<std::string> known = attentions().names();
  known.insert(known.begin(), "none");
  std::string type = "none";
  section.read_choice("type", type, known);
  return type == "none" ? nullptr : attentions().get(type)(section);
}

DecoderMaker recurrent_decoder(Section& section, Section& model, const MemoryShape& memory) {
  RecurrentDecoder::Options options;
  read(section, options, memory);
  AttentionMaker attention = read_attention(model);
  if (!attention && memory.layers == 0)
    section.refuse("", "a fixed context needs a recurrent encoder; give the model an attention");
  return [=](int64_t words) {
    auto made = attention ? attention({.query = options.hidden, .values = memory.states}) : nullptr;
    return std::make_unique<RecurrentDecoder>(options, memory, std::move(made), words);
  };
}

}  // namespace

Registry<EncoderFactory>& encoders() {
  static Registry<EncoderFactory> registry = [] {
    Registry<EncoderFactory> r("encoder");
    r.add("recurrent", "embedding and recurrent layers, one or both directions", recurrent_encoder);
    return r;
  }();
  return registry;
}

Registry<DecoderFactory>& decoders() {
  static Registry<DecoderFactory> registry = [] {
    Registry<DecoderFactory> r("decoder");
    r.add("recurrent", "recurrent layers with a fixed context or an attention", recurrent_decoder);
    return r;
  }();
  return registry;
}

ModelMaker read_model(Section& model) {
  Section encoder = model.section("encoder");
  EncoderPlan plan = encoders().choose(encoder, "type", "recurrent")(encoder);
  Section decoder = model.section("decoder");
  DecoderMaker make_decoder =
      decoders().choose(decoder, "type", "recurrent")(decoder, model, plan.memory);
  return [=](int64_t source_words, int64_t target_words) {
    return std::make_unique<EncoderDecoder>(plan.make(source_words), make_decoder(target_words));
  };
}

}  // namespace lookback
