#include "study/explain.h"

#include <algorithm>

#include "cli/cli.h"
#include "core/files.h"
#include "core/log.h"
#include "study/explain_page.h"
#include "study/heatmap_figure.h"
#include "train/checkpoint.h"
#include "train/positions.h"

namespace lookback::cli {
namespace {

struct Options {
  std::string model, input, target, report, figure;
  std::vector<std::string> others;
  bool json = false;
};

std::string command_of(const Options& o) {
  std::string text = format("{} explain {}", quoted(program()), quoted(o.model));
  for (const std::string& other : o.others) text += " --also " + quoted(other);
  text += " --input " + quoted(o.input);
  if (!o.target.empty()) text += " --target " + quoted(o.target);
  if (!o.figure.empty()) text += " --figure " + quoted(o.figure);
  if (!o.report.empty()) text += " --report " + quoted(o.report);
  return text;
}

std::vector<Id> read_side(const std::string& option, const std::string& text,
                          const Vocabulary& vocabulary) {
  check_utf8(text, option, 1);
  std::vector<Id> ids = vocabulary.encode(text);
  if (ids.empty()) fail_user("explain: {}: holds no word", option);
  std::vector<std::string_view> words = split_words(text);
  for (size_t i = 0; i < ids.size(); ++i)
    if (ids[i] == kUnknown)
      log_warn("{}: \"{}\" is no word of the model's; it is read as <unk>", option, words[i]);
  return ids;
}

/// The task's causes of each output token, where the model was trained on a task that knows them.
std::vector<int64_t> known_causes(const LoadedModel& model, const std::vector<Id>& source,
                                  const std::vector<Id>& said) {
  const auto* data = std::get_if<TaskDataOptions>(&model.recipe.data);
  if (!data) return {};
  return data->task->causes({source, said}).value_or(std::vector<int64_t>());
}

/// Whether two models are one: every parameter equal.
bool same_weights(const Module& a, const Module& b) {
  std::vector<Module::Named> of_a = a.parameters(), of_b = b.parameters();
  if (of_a.size() != of_b.size()) return false;
  for (size_t i = 0; i < of_a.size(); ++i) {
    const Tensor &x = of_a[i].variable.value(), &y = of_b[i].variable.value();
    if (x.shape() != y.shape() || !std::equal(x.values().begin(), x.values().end(), y.data()))
      return false;
  }
  return true;
}

std::string weight_figure(const Explanation& e, const TokenNames& names, const std::string& model) {
  std::vector<Heatmap> maps = weight_maps(e, names);
  if (maps.empty())
    fail_user("explain: --figure: {} has no attention, so there are no weights to draw", model);
  return svg(maps[0], "Where the decoder looks", maps.size() > 1 ? maps[0].name : "");
}

Json json_of(const Explanation& e, const LoadedModel& model) {
  Json source = Json::array(), target = Json::array();
  for (Id id : e.source) source.push_back(model.source.token(id));
  for (Id id : e.target) target.push_back(model.target.token(id));
  return {{"model", model.path},       {"source", source},
          {"target", target},          {"log_probability", e.log_probability},
          {"weights", e.mean_weights}, {"layers", e.weights},
          {"ablation", e.ablation},    {"erasure", e.erasure},
          {"gradient", e.gradient},    {"input_x_gradient", e.product}};
}

Json json_of(const WeightVerdict& verdict) {
  Json checks = Json::array();
  for (const WeightCheck& c : verdict.checks)
    checks.push_back({{"name", c.name},
                      {"rank_correlation", c.agreement.rank},
                      {"same_place", c.agreement.top},
                      {"passes", c.passes}});
  return {{"checks", checks}, {"readable", verdict.readable}, {"sentence", verdict.sentence}};
}

}  // namespace

int explain(const Words& words) {
  Options options;
  Arguments arguments(
      "explain",
      "Shows what a model's output rests on: attention weights beside what happens when a source "
      "position is\n"
      "hidden or erased, and beside gradients; how far they agree; and whether the weights may be "
      "read as an\n"
      "explanation here. A weight alone is none.",
      "  lookback explain runs/copy_token --input \"a b c d 2\"\n"
      "  lookback explain runs/seed1 --also runs/seed2 --also runs/seed3 --input \"c a b\" "
      "--report why.html");
  arguments.needed("MODEL_OR_RUN", options.model, "A model file, or a run folder");
  arguments.texts("--also", "MODEL_OR_RUN", options.others,
                  "The same model trained from another seed; may be repeated");
  arguments.text("--input", "TEXT", options.input, "The source sentence, words between blanks");
  arguments.text("--target", "TEXT", options.target,
                 "Explain this output (default: what the model says, greedily)");
  arguments.text("--report", "FILE.html", options.report, "Also write a page with every map");
  arguments.text("--figure", "FILE.svg", options.figure,
                 "Also draw the attention weights, the mean over layers and heads");
  arguments.flag("--json", options.json, "Print one JSON object");
  arguments.threads();
  if (!arguments.parse(words)) return 0;
  if (options.input.empty()) fail_user("explain: --input TEXT is missing; give a source sentence");

  std::vector<std::string> paths = {options.model};
  paths.insert(paths.end(), options.others.begin(), options.others.end());
  std::vector<LoadedModel> models;
  for (const std::string& path : paths) {
    models.push_back(load_model(path));
    if (!(models.back().source == models[0].source && models.back().target == models[0].target))
      fail_user("explain: {}: has other vocabularies than {}", path, options.model);
    if (models.size() > 1 && same_weights(*models.back().model, *models[0].model))
      fail_user("explain: --also {}: is the same model as {}; give one trained from another seed",
                path, options.model);
  }
  std::vector<Id> source = read_side("--input", options.input, models[0].source);
  std::optional<std::vector<Id>> target;
  if (!options.target.empty()) target = read_side("--target", options.target, models[0].target);
  std::vector<Explanation> seeds;
  for (const LoadedModel& model : models) {
    if (std::optional<TooLong> problem =
            too_long({source, target.value_or(std::vector<Id>())}, position_limits(*model.model)))
      fail_user("explain: {}: {}", problem->source ? "--input" : "--target", problem->text);
    // The others explain what the first one said.
    const std::vector<Id>* given = target ? &*target : nullptr;
    seeds.push_back(lookback::explain(*model.model, source, given));
    refuse_not_finite(seeds.back().log_probability, model.path);
    if (!target) target = std::vector<Id>(seeds[0].target.begin(), seeds[0].target.end() - 1);
  }
  for (size_t i = 1; i < seeds.size(); ++i)
    if (seeds[i].weights.empty() != seeds[0].weights.empty())
      fail_user("explain: --also {}: {} attention, unlike {}", paths[i],
                seeds[i].weights.empty() ? "has no" : "has", options.model);
  WeightVerdict verdict = judge_weights(seeds, known_causes(models[0], source, *target));
  TokenNames names{models[0].source, models[0].target};
  Page page = explanation_page(seeds, verdict, names, command_of(options));
  std::string figure;  // before anything is written: a model without attention has none
  if (!options.figure.empty()) figure = weight_figure(seeds[0], names, options.model);
  if (!options.report.empty()) write_file(options.report, html(page));
  if (!options.figure.empty()) write_file(options.figure, figure);
  if (options.json) {
    Json explained = Json::array();
    for (size_t i = 0; i < seeds.size(); ++i) explained.push_back(json_of(seeds[i], models[i]));
    print_json({{"models", explained}, {"verdict", json_of(verdict)}});
  } else {
    print(plain_text(page));
  }
  return 0;
}

}  // namespace lookback::cli
