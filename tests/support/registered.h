#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "support/attentions.h"
#include "support/models.h"

// Everything that is registered, by name, so that the contracts hold for what is added later without
// anybody thinking of it. A type that needs options (small sizes, several scores) has its variants in
// a table here; a type without an entry runs with its defaults.

namespace lookback::testing {

/// Options of a type, each the inside of its section beside `type`.
using Variants = std::map<std::string, std::vector<std::string>>;

inline std::vector<std::string> sections(const std::vector<std::string>& names,
                                         const Variants& variants) {
  std::vector<std::string> out;
  for (const std::string& name : names) {
    auto found = variants.find(name);
    std::vector<std::string> options =
        found == variants.end() ? std::vector<std::string>{""} : found->second;
    for (const std::string& more : options)
      out.push_back("type: " + name + (more.empty() ? "" : ", " + more));
  }
  return out;
}

/// Every cell, one of a user's own among them.
inline std::vector<std::string> all_cells() {
  register_averaging_cell();
  return cells().names();
}

/// Every attention, for a query with as many units as a value.
inline std::vector<std::string> all_attentions() {
  return sections(attentions().names(),
                  {{"bahdanau", {"", "units: 5"}},
                   {"luong", {"score: dot", "score: general", "score: concat, units: 5"}},
                   {"scaled_dot", {"", "units: 3"}}});
}

struct ModelSizes {
  int64_t embedding = 3;
  int64_t hidden = 4;
  int64_t words = 11;
  double dropout = 0;
};

inline std::vector<std::string> transformer_variants(const ModelSizes& sizes) {
  int64_t width = sizes.hidden + sizes.hidden % 2;
  auto with = [&](const char* more) {
    return format("width: {}, heads: 2, feed_forward: {}, dropout: {}, {}", width, width + 1,
                  sizes.dropout, more);
  };
  return {with("layers: 1"),
          with("layers: 2, norm: post, positions: learned, max_positions: 40, activation: gelu, "
               "key_value_heads: 1, bias: false, attention_way: blockwise")};
}

inline std::vector<std::string> all_encoders(const ModelSizes& sizes) {
  return sections(encoders().names(), {{"recurrent",
                                        {format("cell: gru, embedding: {}, hidden: {}, dropout: {}",
                                                sizes.embedding, sizes.hidden, sizes.dropout)}},
                                       {"transformer", transformer_variants(sizes)}});
}

/// Decoders that fit any encoder.
inline std::vector<std::string> all_decoders(const ModelSizes& sizes) {
  return sections(
      decoders().names(),
      {{"recurrent",
        {format("cell: gru, embedding: {}, hidden: {}, dropout: {}, initial_state: zero",
                sizes.embedding, sizes.hidden, sizes.dropout)}},
       {"transformer", transformer_variants(sizes)}});
}

/// A model that the contracts are held to.
struct Built {
  std::string yaml;  ///< the section `model`
  std::unique_ptr<EncoderDecoder> model;
  /// The type of its decoder and whether it has an attention, none for a decoder's own way.
  std::string decoder = "recurrent";
  bool attention = false;
  bool shares_source_vectors = false;  ///< `tie_embeddings: all`

  /// Whether a step gives weights; unknown for a decoder of a user's own.
  std::optional<bool> attends() const {
    if (decoder == "transformer") return true;
    if (decoder == "recurrent") return attention;
    return {};
  }
};

/// Why a configuration may refuse a combination of an encoder, a decoder and an attention.
inline const std::vector<std::string>& reasons_to_refuse() {
  static const std::vector<std::string> reasons{
      "a fixed context needs a recurrent encoder",
      "is for a recurrent decoder",  // a decoder with an attention of its own
  };
  return reasons;
}

/// What a walk through all combinations left out: a reason, and how often.
using Refusals = std::map<std::string, int64_t>;

/// Every encoder with every decoder with every attention and with none, and tied word vectors. A
/// combination that is refused is left out for one of the reasons alone; else it throws.
inline std::vector<Built> all_combinations(const ModelSizes& sizes, Refusals* refusals = nullptr) {
  register_averaging_cell();
  std::vector<Built> out;
  auto add = [&](const std::string& encoder, const std::string& decoder,
                 const std::string& attention, const std::string& tie) {
    std::string yaml = format("model:\n  encoder: {{{}}}\n  decoder: {{{}}}\n  attention: {{{}}}\n",
                              encoder, decoder, attention);
    if (tie != "none") yaml += "  tie_embeddings: " + tie + "\n";
    // Where sentences begin is drawn in training, as dropout is.
    bool positions = (encoder + decoder).find("type: transformer") != std::string::npos;
    if (sizes.dropout > 0 && positions) yaml += "  random_offset: 2\n";
    try {
      out.push_back({.yaml = yaml,
                     .model = build_model(yaml, sizes.words),
                     .decoder = decoder.substr(6, decoder.find(',') - 6),
                     .attention = attention != "type: none",
                     .shares_source_vectors = tie == "all"});
    } catch (const UserError& error) {
      for (const std::string& reason : reasons_to_refuse())
        if (std::string(error.what()).find(reason) != std::string::npos) {
          if (refusals) ++(*refusals)[reason];
          return;
        }
      throw Error(yaml + error.what());
    }
  };
  std::vector<std::string> attentions = all_attentions();
  attentions.insert(attentions.begin(), "type: none");
  for (const std::string& encoder : all_encoders(sizes))
    for (const std::string& decoder : all_decoders(sizes))
      for (const std::string& attention : attentions) add(encoder, decoder, attention, "none");
  // One table: as many units as the output layer reads.
  std::string side = format("type: recurrent, embedding: {}, hidden: {}, dropout: {}",
                            2 * sizes.hidden, sizes.hidden, sizes.dropout);
  std::string transformer = "type: transformer, " + transformer_variants(sizes)[0];
  for (const char* tie : {"decoder", "all"}) {
    add(side, side, "type: none", tie);
    add(side, side, "type: bahdanau", tie);
    add(transformer, transformer, "type: none", tie);
  }
  return out;
}

/// Recurrent models of every cell, and with encoders and decoders that differ.
inline std::vector<Built> all_recurrent(const ModelSizes& sizes) {
  std::vector<Built> out;
  for (ModelKind kind : model_kinds(all_cells())) {
    kind.dropout = sizes.dropout;
    std::string yaml = kind.yaml(sizes.embedding, sizes.hidden);
    out.push_back(
        {.yaml = yaml, .model = build_model(yaml, sizes.words), .attention = kind.attends()});
  }
  for (const char* attention : {"none", "bahdanau"})
    for (const char* initial : {"bridge", "zero"})
      for (auto [encoder, decoder] : {std::pair{"lstm", "gru"}, std::pair{"gru", "lstm"}}) {
        std::string yaml = format(
            "model:\n  encoder: {{cell: {0}, embedding: {4}, hidden: {5}, dropout: {7}}}\n"
            "  decoder: {{cell: {1}, embedding: {4}, hidden: {6}, layers: 2, initial_state: {2}, "
            "dropout: {7}}}\n  attention: {{type: {3}}}\n",
            encoder, decoder, initial, attention, sizes.embedding, sizes.hidden, sizes.hidden + 1,
            sizes.dropout);
        out.push_back({.yaml = yaml,
                       .model = build_model(yaml, sizes.words),
                       .attention = std::string(attention) != "none"});
      }
  return out;
}

inline std::vector<Built> all_models(const ModelSizes& sizes = {}) {
  std::vector<Built> out = all_recurrent(sizes);
  for (const TransformerKind& kind : transformer_kinds(4, sizes.dropout))
    out.push_back({.yaml = kind.yaml(),
                   .model = build_model(kind.yaml(), sizes.words),
                   .decoder = kind.recurrent_decoder ? "recurrent" : "transformer",
                   .attention = kind.recurrent_decoder,
                   .shares_source_vectors = kind.tied_to_source});
  for (Built& built : all_combinations(sizes)) out.push_back(std::move(built));
  return out;
}

}  // namespace lookback::testing
