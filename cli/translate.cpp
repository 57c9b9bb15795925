#include <unistd.h>

#include <cmath>
#include <iostream>

#include "cli/cli.h"
#include "core/files.h"
#include "core/log.h"
#include "train/checkpoint.h"
#include "train/evaluate.h"

namespace lookback::cli {
namespace {

using Lines = std::vector<std::string>;

constexpr const char* kStdin = "<stdin>";

/// A model with what it is asked to do.
struct Translator {
  LoadedModel model;
  DecodeOptions options;
  int64_t batch = 64;

  /// One result a line, in order; a line without words stays without.
  std::vector<Decoded> run(const Lines& lines) const {
    std::vector<std::vector<Id>> sources;
    std::vector<size_t> places;
    for (size_t i = 0; i < lines.size(); ++i) {
      std::vector<Id> source = model.source.encode(lines[i]);
      if (source.empty()) continue;
      sources.push_back(std::move(source));
      places.push_back(i);
    }
    std::vector<Decoded> out(lines.size());
    std::vector<Decoded> decoded = lookback::translate(*model.model, sources, options, batch);
    for (const Decoded& sentence : decoded) refuse_not_finite(sentence.log_probability, model.path);
    for (size_t i = 0; i < places.size(); ++i) out[places[i]] = std::move(decoded[i]);
    return out;
  }

  std::string text(const std::vector<Decoded>& all) const {
    std::string out;
    for (const Decoded& decoded : all) out += model.target.decode(decoded.tokens) + "\n";
    return out;
  }
};

/// One sentence's tokens and weights, (T, S), six digits after the point.
Json attention_of(const std::string& line, const Decoded& decoded, const Vocabulary& target) {
  Json source = Json::array(), said = Json::array(), weights = Json::array();
  for (std::string_view word : split_words(line)) source.push_back(word);
  source.push_back(target.token(kEnd));
  for (Id id : decoded.tokens) said.push_back(target.token(id));
  if (decoded.finished) said.push_back(target.token(kEnd));
  for (const std::vector<Real>& row : decoded.weights) {
    Json values = Json::array();
    for (Real weight : row) values.push_back(std::round(double{weight} * 1e6) / 1e6);
    weights.push_back(std::move(values));
  }
  return {{"source", source}, {"target", said}, {"weights", weights}};
}

/// Throws, before anything is written, where the model gave no weights.
Json attention_json(const Lines& lines, const std::vector<Decoded>& all, const LoadedModel& model) {
  Json sentences = Json::array();
  for (size_t i = 0; i < lines.size(); ++i) {
    bool without = all[i].weights.empty() && !split_words(lines[i]).empty();
    if (without)
      fail_user(
          "{}: the model has no attention (model.attention.type is none), so --attention has "
          "nothing to write",
          model.path);
    sentences.push_back(attention_of(lines[i], all[i], model.target));
  }
  return {{"sentences", sentences}};
}

/// From a terminal each line is answered at once.
void converse(const Translator& translator) {
  log_info("one sentence a line; Ctrl-D ends");
  std::string line;
  for (int64_t number = 1; std::getline(std::cin, line); ++number) {
    check_utf8(line, kStdin, number);
    print(translator.text(translator.run({line})));
  }
}

void translate_all(const Translator& translator, const std::string& attention_path) {
  // All of the input is checked before the first line is answered.
  Lines lines = split_lines(read_standard_input(), kStdin);
  if (!attention_path.empty()) {
    std::vector<Decoded> all = translator.run(lines);
    write_file(attention_path, json_text(attention_json(lines, all, translator.model)) + "\n");
    print(translator.text(all));
    return;
  }
  // In portions large enough to be sorted into batches of like length.
  const size_t portion = static_cast<size_t>(translator.batch) * 32;
  for (size_t begin = 0; begin < lines.size(); begin += portion) {
    size_t end = std::min(lines.size(), begin + portion);
    print(translator.text(translator.run({lines.begin() + static_cast<ptrdiff_t>(begin),
                                          lines.begin() + static_cast<ptrdiff_t>(end)})));
  }
}

}  // namespace

int translate(const Words& words) {
  std::string path, attention_path;
  int64_t max_length = 0, batch = 64;
  Arguments arguments(
      "translate",
      "Translates standard input greedily: one line in, one line out, in order; an empty line "
      "stays empty. Words\n"
      "are what blanks separate; unknown ones are read as <unk>.",
      "  lookback translate runs/multi30k_bahdanau < test.de > test.en\n"
      "  echo \"a b c\" | lookback translate runs/copy_bahdanau --attention weights.json");
  arguments.needed("MODEL_OR_RUN", path,
                   "A model file, or a run folder, of which the best model is taken");
  arguments.text("--attention", "FILE.json", attention_path,
                 "Write {sentences: [{source, target, weights}]}: tokens with <eos>, and a row of "
                 "weights over\n"
                 "the source for each target token");
  arguments.whole("--max-length", max_length, between(1, 1e6),
                  "Tokens a translation at most (default: the model's decode.max_length)");
  arguments.whole("--batch", batch, between(1, 1e6),
                  "Sentences a batch; changes the time, and last digits (default 64)");
  arguments.threads();
  if (!arguments.parse(words)) return 0;

  LoadedModel model = load_model(path);
  DecodeOptions options = model.recipe.decode;
  if (max_length > 0) options.max_length = max_length;
  options.weights = !attention_path.empty();
  Translator translator{.model = std::move(model), .options = options, .batch = batch};
  if (attention_path.empty() && ::isatty(STDIN_FILENO) == 1) {
    converse(translator);
  } else {
    translate_all(translator, attention_path);
  }
  return 0;
}

}  // namespace lookback::cli
