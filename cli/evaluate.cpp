#include "train/evaluate.h"

#include "cli/cli.h"
#include "core/log.h"
#include "train/checkpoint.h"

namespace lookback::cli {
namespace {

/// What is measured: data and how to decode. Any other key would change the trained model itself.
void check_settings(const std::vector<std::string>& settings) {
  for (const std::string& setting : settings)
    if (!setting.starts_with("data.") && !setting.starts_with("decode."))
      fail_user("evaluate: --set {}: only keys of data and decode can be set for a trained model",
                setting);
}

Split choose_split(const std::string& name, const LoadedModel& model) {
  if (name == "valid") return Split::kValid;
  if (!name.empty()) return Split::kTest;
  Split split = measured_split(model.recipe.data);
  if (split == Split::kValid)
    log_warn("the data has no test set (data.corpus.test); measuring on the validation set");
  return split;
}

std::string row(const std::string& length, const Measures& m) {
  return format("{:>9} {:>9} {:>9.4f} {:>12.3f} {:>9.2f}% {:>9.2f}%\n", length, m.examples, m.nll,
                m.perplexity(), 100 * m.token_accuracy, 100 * m.sequence_accuracy);
}

std::string table(const Evaluation& evaluation) {
  std::string text = format("{:>9} {:>9} {:>9} {:>12} {:>10} {:>10}\n", "length", "examples", "nll",
                            "perplexity", "tokens", "sequences");
  for (const Evaluation::Length& l : evaluation.by_length)
    text += row(l.from == l.to ? format("{}", l.from) : format("{}-{}", l.from, l.to), l.measures);
  return text + row("all", evaluation.all);
}

/// The keys of the evaluation with the model's, the split, and BLEU before the long list of
/// lengths.
Json as_json(const LoadedModel& model, Split split, const Evaluation& evaluation,
             std::optional<double> bleu) {
  Json measured = evaluation.json(), out;
  for (const auto& [key, value] : measured.items())
    if (key != "by_length") out[key] = value;
  if (bleu) out["bleu"] = *bleu;
  out["split"] = split_name(split);
  out["model"] = model.path;
  out["step"] = model.step;
  out["by_length"] = measured["by_length"];
  return out;
}

}  // namespace

int evaluate(const Words& words) {
  std::string path, split_choice;
  std::vector<std::string> settings;
  bool json = false, with_bleu = false;
  EvaluateOptions options;
  Arguments arguments(
      "evaluate",
      "Measures a trained model on held-out examples: nll a target token, perplexity, and the "
      "share of tokens\n"
      "and of whole sequences that are exactly right, by source length.",
      "  lookback evaluate runs/copy_bahdanau\n"
      "  lookback evaluate runs/copy_bahdanau --set data.task.max_length=30 --json\n"
      "  lookback evaluate best.safetensors --bleu --set data.corpus.test.source=t.de --set "
      "data.corpus.test.target=t.en");
  arguments.needed("MODEL_OR_RUN", path,
                   "A model file, or a run folder, of which the best model is taken");
  arguments.texts("--set", "KEY=VALUE", settings,
                  "Other data than in training, like data.task.max_length=30; may be repeated");
  arguments.choice("--split", split_choice, {"test", "valid"},
                   "Which held-out examples (default test; valid where the data has no test set)");
  arguments.flag("--bleu", with_bleu,
                 "Also translate, by the model's decode section, and give corpus BLEU-4");
  arguments.flag("--json", json, "Print one JSON object");
  arguments.whole("--batch", options.batch, between(1, 1e6),
                  "Sentences a batch; changes the time, and last digits (default 64)");
  arguments.threads();
  if (!arguments.parse(words)) return 0;

  check_settings(settings);
  LoadedModel model = load_model(path, settings);
  const Recipe& recipe = model.recipe;
  std::unique_ptr<Dataset> data =
      make_dataset(recipe.data, recipe.seed, recipe.train.batch, model.source, model.target);
  Split split = choose_split(split_choice, model);
  data->refuse_longer(split, position_limits(*model.model));
  const std::vector<Example>& examples = data->held_out(split);
  Evaluation evaluation = lookback::evaluate(*model.model, examples, options);
  refuse_not_finite(evaluation.all.nll, model.path);
  std::optional<double> bleu;
  if (with_bleu) bleu = lookback::bleu(*model.model, examples, recipe.decode, options.batch);

  if (json) {
    print_json(as_json(model, split, evaluation, bleu));
    return 0;
  }
  print(format("{} (step {}) on the {} set\n", model.path, model.step, split_name(split)) +
        table(evaluation) + (bleu ? format("BLEU {:.2f}\n", *bleu) : ""));
  return 0;
}

}  // namespace lookback::cli
