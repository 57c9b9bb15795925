#include "study/run_report.h"

#include <algorithm>
#include <cmath>

#include "core/error.h"
#include "study/explain_page.h"
#include "study/learning_curve.h"
#include "train/checkpoint.h"
#include "train/evaluate.h"

namespace lookback {
namespace {

constexpr size_t kSentences = 4;      // whose attention is shown
constexpr size_t kLongestShown = 24;  // tokens: a larger map is hard to read

std::vector<std::pair<double, double>> points(const std::vector<double>& x,
                                              const std::vector<double>& y) {
  std::vector<std::pair<double, double>> out;
  for (size_t i = 0; i < x.size(); ++i) out.emplace_back(x[i], y[i]);
  return out;
}

void add_learning(const LearningCurve& curve, Page& page) {
  Figure nll{.title = "Learning",
             .subtitle = "nll a target token; the validation set was never trained on",
             .x_label = "training step",
             .y_label = "nll",
             .series = {}};
  if (!curve.train_step.empty())
    nll.series.push_back({.name = "training", .points = points(curve.train_step, curve.train_nll)});
  if (!curve.valid_step.empty())
    nll.series.push_back(
        {.name = "validation", .points = points(curve.valid_step, curve.valid_nll)});
  if (!nll.series.empty()) page.blocks.push_back(CurvesBlock{std::move(nll)});
  if (curve.valid_step.size() < 2) return;
  Figure right{.title = "Sentences exactly right",
               .subtitle = "on the validation set",
               .x_label = "training step",
               .y_label = "sentences exactly right",
               .series = {{.name = "validation",
                           .points = points(curve.valid_step, curve.valid_sequence_accuracy)}},
               .y_range = std::pair(0.0, 1.0),
               .percent = true};
  page.blocks.push_back(CurvesBlock{std::move(right)});
}

void add_by_length(const Evaluation& evaluation, const std::string& split, Page& page) {
  Series sentences{.name = "sentences exactly right", .points = {}};
  Series words{.name = "tokens right", .points = {}, .dashed = true};
  TableBlock table{.title = "The same in numbers",
                   .note = "On the " + split + " set. Tokens are under teacher forcing.",
                   .columns = {"length", "sentences", "exactly right", "tokens right", "nll"},
                   .rows = {}};
  auto row = [&](const std::string& length, const Measures& m) {
    table.rows.push_back({length, format("{}", m.examples),
                          format("{:.1f}%", 100 * m.sequence_accuracy),
                          format("{:.1f}%", 100 * m.token_accuracy), format("{:.4f}", m.nll)});
  };
  for (const Evaluation::Length& l : evaluation.by_length) {
    double middle = 0.5 * static_cast<double>(l.from + l.to);
    sentences.points.emplace_back(middle, l.measures.sequence_accuracy);
    sentences.intervals.push_back(
        share_interval(l.measures.sequence_accuracy, l.measures.examples));
    words.points.emplace_back(middle, l.measures.token_accuracy);
    row(l.from == l.to ? format("{}", l.from) : format("{} to {}", l.from, l.to), l.measures);
  }
  row("all", evaluation.all);
  if (sentences.points.size() > 1)
    page.blocks.push_back(CurvesBlock{
        {.title = "By source length",
         .subtitle = format("{} held-out sentences; the band is the 95% interval of a share",
                            evaluation.all.examples),
         .x_label = "source length, tokens",
         .y_label = "share that is right",
         .series = {sentences, words},
         .y_range = std::pair(0.0, 1.0),
         .percent = true}});
  page.blocks.push_back(std::move(table));
}

/// Attention of sentences of different lengths, the longest that still fit a page among them.
void add_attention(const LoadedModel& model, const std::vector<Example>& examples, Page& page) {
  std::vector<const Example*> fitting;
  for (const Example& example : examples)
    if (!example.source.empty() && example.source.size() <= kLongestShown &&
        example.target.size() <= kLongestShown)
      fitting.push_back(&example);
  std::stable_sort(fitting.begin(), fitting.end(), [](const Example* a, const Example* b) {
    return a->source.size() < b->source.size();
  });
  if (fitting.empty()) return;
  TokenNames names{model.source, model.target};
  for (size_t i = 0; i < kSentences; ++i) {
    // Quarters of the list, the last one its end.
    size_t at = (i + 1) * fitting.size() / kSentences;
    if (at == i * fitting.size() / kSentences) continue;  // fewer sentences than places
    const Example& example = *fitting[at == 0 ? 0 : at - 1];
    Explanation e = explain(*model.model, example.source);
    if (e.weights.empty()) return;
    bool right = std::equal(e.target.begin(), e.target.end() - 1, example.target.begin(),
                            example.target.end());
    page.blocks.push_back(HeatmapBlock{
        i == 0 ? "Where the decoder looks" : "",
        format("{}  ->  {}{}", model.source.decode(example.source), model.target.decode(e.target),
               right ? "" : format("  (right would be: {})", model.target.decode(example.target))),
        weight_maps(e, names)});
  }
}

}  // namespace

std::pair<double, double> share_interval(double share, int64_t count) {
  if (count < 1) return {0, 1};
  constexpr double z = 1.959964;
  double n = static_cast<double>(count), middle = share + z * z / (2 * n);
  double half = z * std::sqrt(share * (1 - share) / n + z * z / (4 * n * n));
  return {std::max(0.0, (middle - half) / (1 + z * z / n)),
          std::min(1.0, (middle + half) / (1 + z * z / n))};
}

Page run_report(const std::string& folder, const std::string& program) {
  LoadedModel model = load_model(folder);
  const Recipe& recipe = model.recipe;
  std::unique_ptr<Dataset> data =
      make_dataset(recipe.data, recipe.seed, recipe.train.batch, model.source, model.target);
  Split split = measured_split(recipe.data);
  const std::vector<Example>& examples = data->held_out(split);
  Evaluation evaluation = evaluate(*model.model, examples);
  LearningCurve curve = read_learning_curve(folder);

  Page page{.title = recipe.name, .subtitle = "", .blocks = {}};
  page.subtitle = format(
      "{:.1f}% of {} held-out sentences exactly right; nll {:.4f} a token; {} parameters; step {}",
      100 * evaluation.all.sequence_accuracy, evaluation.all.examples, evaluation.all.nll,
      model.model->parameter_count(), model.step);
  page.blocks.push_back(TextBlock{"", data->description()});
  add_learning(curve, page);
  add_by_length(evaluation, split_name(split), page);
  add_attention(model, examples, page);
  page.blocks.push_back(
      CodeBlock{"Repeat it",
                format("{} train {}/config.yaml --run {}-again", program, folder, folder), false});
  page.blocks.push_back(CodeBlock{"Configuration, defaults included", model.config.yaml(), true});
  return page;
}

}  // namespace lookback
