#include "models/build.h"

#include "models/recurrent_decoder.h"
#include "models/recurrent_encoder.h"
#include "models/transformer_decoder.h"
#include "models/transformer_encoder.h"

namespace lookback {
namespace {

Tie read_tie(Section& model) {
  std::string tie = "none";
  model.read_choice("tie_embeddings", tie, {"none", "decoder", "all"});
  return tie == "all" ? Tie::kAll : tie == "decoder" ? Tie::kDecoder : Tie::kNone;
}

EncoderPlan recurrent_encoder(Section& section, Section& model) {
  RecurrentEncoder::Options options;
  read(section, options);
  options.scaled_vectors = read_tie(model) == Tie::kAll;
  return {.memory = RecurrentEncoder::memory_shape(options), .make = [options](int64_t words) {
            return std::make_unique<RecurrentEncoder>(options, words);
          }};
}

/// `attention.type`: `none` or what is registered, whichever decoder asks.
std::string read_attention_type(Section& attention) {
  std::vector<std::string> known = attentions().names();
  known.insert(known.begin(), "none");
  std::string type = "none";
  attention.read_choice("type", type, known);
  return type;
}

/// Null for `none`: the decoder then sees one fixed context, and has no keys in the section.
AttentionMaker read_attention(Section& model, const Attention::Sizes& sizes,
                              RecurrentDecoder::Options& options) {
  Section section = model.section("attention");
  std::string type = read_attention_type(section);
  if (type == "none") return nullptr;
  read_attending(section, options);
  return attentions().get(type)(section, sizes);
}

DecoderMaker recurrent_decoder(Section& section, Section& model, const DecoderSetting& setting) {
  RecurrentDecoder::Options options;
  const MemoryShape& memory = setting.memory;
  read(section, options, memory);
  AttentionMaker attention =
      read_attention(model, {.query = options.hidden, .values = memory.states}, options);
  options.tie = setting.tie != Tie::kNone;
  std::string hidden = format("decoder hidden {}", options.hidden);
  check_tie(model, setting, options.embedding, RecurrentDecoder::features(options, memory),
            options.query == "current" ? hidden
                                       : format("{} + encoder states {}", hidden, memory.states));
  if (!attention && memory.layers == 0)
    section.refuse("", "a fixed context needs a recurrent encoder; give the model an attention");
  return [=](int64_t words, const Variable& source_vectors) {
    return std::make_unique<RecurrentDecoder>(options, memory, attention ? attention() : nullptr,
                                              words, source_vectors);
  };
}

EncoderPlan transformer_encoder(Section& section, Section& model) {
  TransformerOptions options;
  read(section, model, options);
  return {.memory = {.states = options.width, .layers = 0, .embedding = options.width},
          .make = [options](int64_t words) {
            return std::make_unique<TransformerEncoder>(options, words);
          }};
}

DecoderMaker transformer_decoder(Section& section, Section& model, const DecoderSetting& setting) {
  TransformerOptions options;
  read(section, model, options);
  Section attention = model.section("attention");
  std::string type = read_attention_type(attention);
  if (type != "none")
    attention.refuse("type",
                     format("\"{}\" is for a recurrent decoder; a Transformer's has attention "
                            "of its own, so leave model.attention out",
                            type));
  check_tie(model, setting, options.width, options.width, "its width");
  bool tie = setting.tie != Tie::kNone;
  return [=, memory = setting.memory](int64_t words, const Variable& source_vectors) {
    return std::make_unique<TransformerDecoder>(options, memory, tie, words, source_vectors);
  };
}

}  // namespace

Registry<EncoderFactory>& encoders() {
  static Registry<EncoderFactory> registry = [] {
    Registry<EncoderFactory> r("encoder");
    r.add("recurrent", "embedding and recurrent layers, one or both directions", recurrent_encoder);
    r.add("transformer", "layers of self-attention (Vaswani et al., 2017)", transformer_encoder);
    return r;
  }();
  return registry;
}

Registry<DecoderFactory>& decoders() {
  static Registry<DecoderFactory> registry = [] {
    Registry<DecoderFactory> r("decoder");
    r.add("recurrent", "recurrent layers with a fixed context or an attention", recurrent_decoder);
    r.add("transformer", "layers of causal self-attention and cross-attention",
          transformer_decoder);
    return r;
  }();
  return registry;
}

void check_tie(Section& model, const DecoderSetting& setting, int64_t embedding,
               int64_t output_inputs, const std::string& inputs_are) {
  if (setting.tie == Tie::kNone) return;
  if (embedding != output_inputs)
    model.refuse("tie_embeddings",
                 format("the decoder's word vectors have {} units, but its output layer reads {} "
                        "({}); one table needs them equal",
                        embedding, output_inputs, inputs_are));
  if (setting.tie == Tie::kAll && setting.memory.embedding == 0)
    model.refuse(
        "tie_embeddings",
        "\"all\" shares the encoder's word vectors, but this encoder has none to share; use "
        "tie_embeddings: decoder");
  if (setting.tie == Tie::kAll && embedding != setting.memory.embedding)
    model.refuse("tie_embeddings",
                 format("the decoder's word vectors have {} units, the encoder's {}; one table for "
                        "\"all\" needs them equal",
                        embedding, setting.memory.embedding));
}

ModelMaker read_model(Section& model, bool one_vocabulary) {
  Section encoder = model.section("encoder");
  EncoderPlan plan = encoders().choose(encoder, "type", "recurrent")(encoder, model);
  Section decoder = model.section("decoder");
  Tie tie = read_tie(model);
  if (tie == Tie::kAll && !one_vocabulary)
    model.refuse("tie_embeddings",
                 "\"all\" shares one table between source and target, but each side has a "
                 "vocabulary of its own; set data.corpus.joint_vocabulary: true (a task has the "
                 "vocabularies that it has), or use tie_embeddings: decoder");
  DecoderMaker make_decoder = decoders().choose(decoder, "type", "recurrent")(
      decoder, model, {.memory = plan.memory, .tie = tie});
  return [=](int64_t source_words, int64_t target_words) {
    std::unique_ptr<Encoder> made = plan.make(source_words);
    Variable shared = tie == Tie::kAll ? made->word_vectors() : Variable();
    std::unique_ptr<Decoder> reads = make_decoder(target_words, shared);
    return std::make_unique<EncoderDecoder>(std::move(made), std::move(reads));
  };
}

}  // namespace lookback
