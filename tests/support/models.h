#pragma once

#include <memory>
#include <string>
#include <vector>

#include "models/build.h"
#include "support/layers.h"
#include "support/transformers.h"

namespace lookback::testing {

/// One of the models that the tests go through.
struct ModelKind {
  std::string cell = "gru";
  std::string attention = "type: none";  ///< the section, in one line
  bool bidirectional = false;            ///< with a bridge, as the sizes differ
  int64_t layers = 1;
  double dropout = 0;
  bool variational = false;

  std::string name() const {
    return cell + ", " + attention + (bidirectional ? ", both ways" : ", forward") +
           format(", {} layers, dropout {}", layers, dropout) +
           (variational ? ", variational" : "");
  }
  bool attends() const { return attention != "type: none"; }
  /// Whether the section `attention` says so.
  bool says(const char* what) const { return attention.find(what) != std::string::npos; }
  std::string yaml(int64_t embedding, int64_t hidden) const {
    return format(
        "model:\n"
        "  encoder: {{cell: {0}, embedding: {1}, hidden: {2}, layers: {3}, bidirectional: {4}, "
        "dropout: {5}, variational: {8}}}\n"
        "  decoder: {{cell: {0}, embedding: {1}, hidden: {2}, layers: {3}, dropout: {5}, "
        "initial_state: {6}, variational: {8}}}\n"
        "  attention: {{{7}}}\n",
        cell, embedding, hidden, layers, bidirectional, dropout, bidirectional ? "bridge" : "last",
        attention, variational);
  }
};

/// The scores and ways of attending beside `none` and `bahdanau`: each with one number of layers,
/// and few in both directions, so that the tests stay fast.
inline std::vector<ModelKind> further_attentions(const std::string& cell) {
  std::vector<ModelKind> out;
  auto add = [&](const char* attention, int64_t layers, bool variational = false,
                 bool bidirectional = false) {
    out.push_back({.cell = cell,
                   .attention = attention,
                   .bidirectional = bidirectional,
                   .layers = layers,
                   .variational = variational});
  };
  add("type: bahdanau, query: current", 1);
  add("type: bahdanau, query: current, input_feeding: true", 1);
  add("type: luong, score: dot", 1, true);
  add("type: luong, score: dot, query: current", 2, true);
  add("type: luong, score: dot, query: current, input_feeding: true", 1);
  add("type: luong, score: general", 2, true);
  add("type: luong, score: general, query: current", 1, false);
  add("type: luong, score: general, query: current, input_feeding: true", 2, true);
  add("type: luong, score: general, query: current, input_feeding: true", 1, false, true);
  add("type: luong, score: concat, units: 5", 1);
  add("type: luong, score: concat, query: current", 1, false, true);
  add("type: luong, score: concat, query: current, input_feeding: true", 2);
  add("type: scaled_dot, units: 3", 1);
  add("type: scaled_dot", 1, true, true);
  add("type: scaled_dot, query: current", 2);
  return out;
}

inline std::vector<ModelKind> model_kinds(const std::vector<std::string>& cells = {"rnn", "gru",
                                                                                   "lstm"}) {
  std::vector<ModelKind> out;
  for (const std::string& cell : cells)
    for (const char* attention : {"type: none", "type: bahdanau"})
      for (bool bidirectional : {false, true})
        for (int64_t layers : {1, 2})
          out.push_back({.cell = cell,
                         .attention = attention,
                         .bidirectional = bidirectional,
                         .layers = layers});
  for (const std::string& cell : cells)
    for (const ModelKind& kind : further_attentions(cell)) out.push_back(kind);
  return out;
}

struct NamedModel {
  std::string name, yaml;
};

/// One of each way to decode.
inline std::vector<NamedModel> decodable_models() {
  std::vector<NamedModel> out;
  for (const ModelKind& kind : model_kinds({"gru"}))
    if (kind.layers == 1 && !kind.bidirectional) out.push_back({kind.name(), kind.yaml(4, 6)});
  for (const TransformerKind& kind : transformer_kinds(8, 0))
    out.push_back({kind.name, kind.yaml()});
  return out;
}

/// The model that a config's text describes, with `words` words on both sides and drawn from
/// `seed`.
inline std::unique_ptr<EncoderDecoder> build_model(const std::string& yaml, int64_t words,
                                                   uint64_t seed = 1) {
  Config source = Config::from_text(yaml, "test.yaml"), resolved;
  Section root(source, resolved), model = root.section("model");
  ModelMaker make = read_model(model, true);
  refuse_unknown(source, resolved);
  std::unique_ptr<EncoderDecoder> out = make(words, words);
  out->initialize(seed);
  return out;
}

}  // namespace lookback::testing
