#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <iostream>
#include <optional>

#include "cli/cli.h"
#include "core/files.h"
#include "core/log.h"
#include "train/checkpoint.h"
#include "train/evaluate.h"
#include "train/positions.h"

namespace lookback::cli {
namespace {

using Lines = std::vector<std::string>;

constexpr const char* kStdin = "<stdin>";

/// A model with what it is asked to do.
struct Translator {
  LoadedModel model;
  DecodeOptions options;
  int64_t batch = 64;

  /// The n best of each line, in order; a line without words has none. `first` is the number of the
  /// first line in the whole input, from 0.
  std::vector<std::vector<Decoded>> run(const Lines& lines, size_t first) const {
    std::vector<std::vector<Decoded>> out(lines.size());
    std::vector<std::vector<Id>> sources;
    std::vector<size_t> places;
    for (size_t i = 0; i < lines.size(); ++i) {
      std::vector<Id> source = model.source.encode(lines[i]);
      if (source.empty()) continue;
      sources.push_back(std::move(source));
      places.push_back(i);
    }
    std::vector<uint64_t> numbers;
    for (size_t place : places) numbers.push_back(first + place);
    std::vector<std::vector<Decoded>> decoded =
        lookback::translate(*model.model, sources, options, batch, numbers);
    for (size_t i = 0; i < places.size(); ++i) {
      for (const Decoded& one : decoded[i]) refuse_not_finite(one.log_probability, model.path);
      out[places[i]] = std::move(decoded[i]);
    }
    return out;
  }

  /// A line for each input line; of n best a line each, with the input line's number before it.
  std::string text(const std::vector<std::vector<Decoded>>& all, size_t first) const {
    std::string out;
    for (size_t i = 0; i < all.size(); ++i) {
      if (options.n_best == 1)
        out += (all[i].empty() ? "" : model.target.decode(all[i][0].tokens)) + "\n";
      else
        for (const Decoded& one : all[i])
          out += format("{}\t{:.6f}\t{:.6f}\t{}\n", first + i + 1, one.score, one.log_probability,
                        model.target.decode(one.tokens));
    }
    return out;
  }

  /// Before anything is answered: lines that the model's positions do not reach.
  void check(const Lines& lines, size_t first) const {
    PositionLimits limits = position_limits(*model.model);
    for (size_t i = 0; i < lines.size() && limits.any(); ++i)
      if (std::optional<TooLong> side = too_long({model.source.encode(lines[i]), {}}, limits))
        fail_user("{}:{}: {}", kStdin, first + i + 1, side->text);
  }
};

/// Weights (T, S), six digits after the point, of one layer and head, or the mean over all.
Json weights_json(const Decoded& decoded, size_t begin, size_t end) {
  Json out = Json::array();
  size_t parts = static_cast<size_t>(decoded.layers * decoded.heads);
  for (const std::vector<Real>& step : decoded.weights) {
    size_t positions = step.size() / parts;
    Json row = Json::array();
    for (size_t s = 0; s < positions; ++s) {
      double sum = 0;
      for (size_t part = begin; part < end; ++part) sum += double{step[part * positions + s]};
      row.push_back(std::round(sum / static_cast<double>(end - begin) * 1e6) / 1e6);
    }
    out.push_back(std::move(row));
  }
  return out;
}

/// One sentence's tokens and weights: the mean over layers and heads, and where there are several,
/// each.
Json attention_of(const std::string& line, const std::vector<Decoded>& best,
                  const Vocabulary& target) {
  Json source = Json::array(), said = Json::array();
  for (std::string_view word : split_words(line)) source.push_back(word);
  source.push_back(target.token(kEnd));
  if (best.empty()) return {{"source", source}, {"target", said}, {"weights", Json::array()}};
  const Decoded& decoded = best[0];
  for (Id id : decoded.tokens) said.push_back(target.token(id));
  said.push_back(target.token(kEnd));
  size_t layers = static_cast<size_t>(decoded.layers), heads = static_cast<size_t>(decoded.heads);
  Json out{
      {"source", source}, {"target", said}, {"weights", weights_json(decoded, 0, layers * heads)}};
  if (layers * heads == 1) return out;
  Json by_layer = Json::array();
  for (size_t layer = 0; layer < layers; ++layer) {
    Json by_head = Json::array();
    for (size_t head = 0; head < heads; ++head)
      by_head.push_back(weights_json(decoded, layer * heads + head, layer * heads + head + 1));
    by_layer.push_back(std::move(by_head));
  }
  out["layers"] = std::move(by_layer);
  return out;
}

/// Throws, before anything is written, where the model gave no weights.
Json attention_json(const Lines& lines, const std::vector<std::vector<Decoded>>& all,
                    const LoadedModel& model) {
  Json sentences = Json::array();
  for (size_t i = 0; i < lines.size(); ++i) {
    if (!all[i].empty() && all[i][0].weights.empty())
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
  for (size_t number = 0; std::getline(std::cin, line); ++number) {
    check_utf8(line, kStdin, static_cast<int64_t>(number) + 1);
    translator.check({line}, number);
    print(translator.text(translator.run({line}, number), number));
  }
}

void translate_all(const Translator& translator, const std::string& attention_path) {
  // All of the input is checked before the first line is answered.
  Lines lines = split_lines(read_standard_input(), kStdin);
  translator.check(lines, 0);
  if (!attention_path.empty()) {
    std::vector<std::vector<Decoded>> all = translator.run(lines, 0);
    write_file(attention_path, json_text(attention_json(lines, all, translator.model)) + "\n");
    print(translator.text(all, 0));
    return;
  }
  // In portions large enough to be sorted into batches of like length.
  const size_t portion = static_cast<size_t>(translator.batch) * 32;
  for (size_t begin = 0; begin < lines.size(); begin += portion) {
    size_t end = std::min(lines.size(), begin + portion);
    Lines some(lines.begin() + static_cast<ptrdiff_t>(begin),
               lines.begin() + static_cast<ptrdiff_t>(end));
    print(translator.text(translator.run(some, begin), begin));
  }
}

/// What the command line says about decoding; what it does not say stays as the model's config has it.
struct Choices {
  int64_t beam = 0, n_best = 0, min_length = -1, max_length = 0, top_k = -1;
  std::string penalty;
  double alpha = -1, temperature = 0, top_p = 0;
  bool sample = false;
  std::optional<uint64_t> seed;

  void declare(Arguments& a) {
    using namespace decode_ranges;
    a.whole("--beam", beam, kHypotheses, "Hypotheses kept a sentence; 1 is greedy");
    a.whole("--n-best", n_best, kHypotheses,
            "Print the N best of each line, a line each, tab-separated: input line, score,\n"
            "log-probability, text; an empty line has none");
    a.choice("--length-penalty", penalty, length_penalty_types(),
             "Rank by log p, log p / |y|^alpha, or log p / ((5+|y|)/6)^alpha");
    a.number("--alpha", alpha, kAlpha, "Of the length penalty (length 1, gnmt 0.6)");
    a.whole("--min-length", min_length, kMinLength, "Tokens a translation at least");
    a.whole("--max-length", max_length, kMaxLength, "Tokens a translation at most");
    a.flag("--sample", sample,
           "Draw words instead of searching; --n-best is the number of samples");
    a.number("--temperature", temperature, kTemperature, "Of the draw: logits are divided by it");
    a.whole("--top-k", top_k, kTopK, "Draw among the N likeliest words; 0: all");
    a.number("--top-p", top_p, kTopP,
             "Draw among the fewest likeliest words that hold this probability");
    a.seed("--seed", seed, "Of the draws");
  }

  /// The option that sets a key of the config.
  static std::string option_of(std::string key) {
    if (key == "length_penalty.alpha") return "--alpha";
    std::replace(key.begin(), key.end(), '_', '-');
    return "--" + key;
  }

  DecodeOptions over(DecodeOptions o) const {
    if (beam > 0) {  // whoever asks for a beam wants a search
      o.beam = beam;
      o.sample = false;
    }
    if (n_best > 0) o.n_best = n_best;
    if (sample) {
      o.sample = true;
      if (beam == 0) o.beam = 1;
    }
    if (!penalty.empty()) o.length_penalty = {penalty, default_alpha(penalty)};
    if (alpha >= 0) {
      if (o.length_penalty.type == "none")
        fail_user("translate: --alpha belongs to a length penalty; give --length-penalty too");
      o.length_penalty.alpha = alpha;
    }
    if (min_length >= 0) o.min_length = min_length;
    if (max_length > 0) o.max_length = max_length;
    if (temperature > 0) o.temperature = temperature;
    if (top_k >= 0) o.top_k = top_k;
    if (top_p > 0) o.top_p = top_p;
    if (seed) o.seed = *seed;
    bool draws = temperature > 0 || top_k >= 0 || top_p > 0 || seed;
    if (draws && !o.sample)
      fail_user(
          "translate: --temperature, --top-k, --top-p and --seed are of a draw; give --sample too");
    if (std::optional<DecodeProblem> problem = problem_of(o))
      fail_user("translate: {} {}", option_of(problem->key), problem->text);
    return o;
  }
};

}  // namespace

int translate(const Words& words) {
  std::string path, attention_path;
  int64_t batch = 64;
  Choices choices;
  Arguments arguments(
      "translate",
      "Translates standard input: one line in, one line out, in order; an empty line stays empty.\n"
      "Words are what blanks separate; unknown ones are read as <unk>. What is not given is taken\n"
      "from the model's decode section.",
      "  lookback translate runs/multi30k_bahdanau < test.de > test.en\n"
      "  lookback translate runs/multi30k_transformer --beam 5 --length-penalty gnmt < test.de\n"
      "  lookback translate runs/multi30k_transformer --beam 5 --n-best 5 < test.de\n"
      "  lookback translate runs/multi30k_transformer --sample --top-p 0.9 --seed 7 < test.de\n"
      "  echo \"a b c\" | lookback translate runs/copy_bahdanau --attention weights.json");
  arguments.needed("MODEL_OR_RUN", path,
                   "A model file, or a run folder, of which the best model is taken");
  choices.declare(arguments);
  arguments.text(
      "--attention", "FILE.json", attention_path,
      "Write {sentences: [{source, target, weights}]}: tokens with <eos>, and a row of "
      "weights over\n"
      "the source for each target token (the mean over layers and heads; where there are "
      "several,\n"
      "layers[layer][head] has the rows of each)");
  arguments.whole("--batch", batch, between(1, 1e6),
                  "Sentences a batch; changes the time, and last digits (default 64)");
  arguments.threads();
  if (!arguments.parse(words)) return 0;

  LoadedModel model = load_model(path);
  DecodeOptions options = choices.over(model.recipe.decode);
  options.weights = !attention_path.empty();
  std::error_code none;
  if (options.weights && std::filesystem::equivalent(attention_path, model.path, none))
    fail_user("translate: --attention {} is the model itself; name another file", attention_path);
  if (options.weights && options.n_best > 1)
    fail_user(
        "translate: --attention writes the weights of one translation a line; with it n_best "
        "must be 1, but is {}",
        options.n_best);
  Translator translator{.model = std::move(model), .options = options, .batch = batch};
  if (attention_path.empty() && ::isatty(STDIN_FILENO) == 1) {
    converse(translator);
  } else {
    translate_all(translator, attention_path);
  }
  return 0;
}

}  // namespace lookback::cli
