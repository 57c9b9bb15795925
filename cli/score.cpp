#include <cmath>
#include <numeric>

#include "cli/cli.h"
#include "core/log.h"
#include "train/checkpoint.h"
#include "train/corpus.h"
#include "train/evaluate.h"
#include "train/positions.h"

namespace lookback::cli {
namespace {

using Scores = std::vector<std::vector<double>>;

double total(const std::vector<double>& log_p) {
  return std::accumulate(log_p.begin(), log_p.end(), 0.0);
}

Json as_json(const Scores& scores, const std::vector<Example>& examples, const Vocabulary& target) {
  Json all = Json::array();
  for (size_t i = 0; i < scores.size(); ++i) {
    Json tokens = Json::array();
    for (size_t t = 0; t < scores[i].size(); ++t) {
      Id id = t < examples[i].target.size() ? examples[i].target[t] : kEnd;
      tokens.push_back({{"token", target.token(id)}, {"log_probability", scores[i][t]}});
    }
    all.push_back({{"log_probability", total(scores[i])}, {"tokens", tokens}});
  }
  return {{"scores", all}};
}

void log_summary(const Scores& scores) {
  double sum = 0;
  size_t tokens = 0;
  for (const std::vector<double>& log_p : scores) {
    sum += total(log_p);
    tokens += log_p.size();
  }
  double nll = -sum / static_cast<double>(tokens);
  log_info("{}, {} with end marks: nll {:.4f} a token, perplexity {:.3f}",
           counted(static_cast<int64_t>(scores.size()), "line"),
           counted(static_cast<int64_t>(tokens), "token"), nll, std::exp(nll));
}

}  // namespace

int score(const Words& words) {
  std::string path;
  TextPair files;
  bool json = false;
  int64_t batch = 64;
  Arguments arguments(
      "score",
      "Prints how probable a model finds given translations: the natural log-probability of each\n"
      "target line given its source line, end mark included.",
      "  lookback score runs/multi30k_bahdanau test.de test.en > scores.txt");
  arguments.needed("MODEL_OR_RUN", path,
                   "A model file, or a run folder, of which the best model is taken");
  arguments.needed("SOURCE", files.source, "A text file, one sentence a line");
  arguments.needed("TARGET", files.target, "Its translation, with as many lines");
  arguments.flag(
      "--json", json,
      "Print one JSON object: {scores: [{log_probability, tokens: [{token, log_probability}]}]}");
  arguments.whole("--batch", batch, between(1, 1e6),
                  "Sentences a batch; changes the time, and last digits (default 64)");
  arguments.threads();
  if (!arguments.parse(words)) return 0;

  LoadedModel model = load_model(path);
  std::vector<Example> examples = encode(read_text(files), model.source, model.target);
  PositionLimits limits = position_limits(*model.model);
  for (size_t i = 0; i < examples.size(); ++i)
    if (std::optional<TooLong> side = too_long(examples[i], limits))
      fail_user("{}:{}: {}", side->source ? files.source : files.target, i + 1, side->text);
  Scores scores = lookback::score(*model.model, examples, batch);
  for (const std::vector<double>& log_p : scores) refuse_not_finite(total(log_p), model.path);
  if (json) {
    print_json(as_json(scores, examples, model.target));
  } else {
    std::string text;
    for (const std::vector<double>& log_p : scores) text += format("{:.6f}\n", total(log_p));
    print(text);
  }
  log_summary(scores);
  return 0;
}

}  // namespace lookback::cli
