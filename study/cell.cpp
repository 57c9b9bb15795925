#include "study/cell.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>

#include "core/files.h"
#include "study/learning_curve.h"
#include "study/source_gradients.h"
#include "study/test_data.h"
#include "train/checkpoint.h"

namespace lookback {
namespace {

namespace fs = std::filesystem;

Json json_of(const Measures& m) {
  return {{"examples", m.examples},
          {"tokens", m.tokens},
          {"nll", m.nll},
          {"token_accuracy", m.token_accuracy},
          {"sequence_accuracy", m.sequence_accuracy}};
}

/// JSON has no NaN: null stands for it.
double number_of(const Json& json) {
  return json.is_null() ? std::numeric_limits<double>::quiet_NaN() : json.get<double>();
}
std::vector<double> numbers_of(const Json& list) {
  std::vector<double> out;
  for (const Json& value : list) out.push_back(number_of(value));
  return out;
}

Measures measures_of(const Json& json) {
  return {.examples = json.at("examples"),
          .tokens = json.at("tokens"),
          .nll = number_of(json.at("nll")),
          .token_accuracy = json.at("token_accuracy"),
          .sequence_accuracy = json.at("sequence_accuracy")};
}

Json json_of(const CellResult& r) {
  Json lengths = Json::array();
  for (const Evaluation::Length& row : r.by_length) {
    Json entry = {{"from", row.from}, {"to", row.to}};
    entry.update(json_of(row.measures));
    lengths.push_back(entry);
  }
  return {{"parameters", r.parameters},
          {"steps", r.steps},
          {"seconds", r.seconds},
          {"longest", r.longest},
          {"held_out", json_of(r.held_out.all)},
          {"bleu", r.bleu},
          {"by_length", lengths},
          {"gradients_start", r.gradients.start},
          {"gradients_end", r.gradients.end}};
}

CellResult result_of(const Json& json) {
  CellResult r{
      .parameters = json.at("parameters"),
      .steps = json.at("steps"),
      .seconds = json.at("seconds"),
      .longest = json.at("longest"),
      .held_out = {},
      .by_length = {},
      .bleu = json.at("bleu"),
      .gradients = {numbers_of(json.at("gradients_start")), numbers_of(json.at("gradients_end"))}};
  r.held_out.all = measures_of(json.at("held_out"));
  for (const Json& row : json.at("by_length"))
    r.by_length.push_back({row.at("from"), row.at("to"), measures_of(row)});
  return r;
}

/// What a finished cell must agree in to count as the one asked for.
Json identity(const StudyCell& cell) {
  const StudyTest& t = cell.test;
  Config config = cell.recipe.resolved;
  return {{"config", config.yaml()},
          {"test",
           {{"lengths", t.lengths},
            {"examples", t.examples},
            {"bucket", t.bucket},
            {"bleu", t.bleu},
            {"gradient_length", t.gradient_length},
            {"gradient_examples", t.gradient_examples},
            {"checkpoint", t.checkpoint}}}};
}

/// The first line in which two texts differ.
std::string first_difference(const std::string& before, const std::string& now) {
  std::vector<std::string> a = split_lines(before, "result.json"), b = split_lines(now, "config");
  for (size_t i = 0; i < std::max(a.size(), b.size()); ++i) {
    std::string was = i < a.size() ? a[i] : "", is = i < b.size() ? b[i] : "";
    if (was != is) return format("\"{}\" became \"{}\"", was, is);
  }
  return "";
}

/// The result of a cell that is finished; none where it is to be trained, or only measured, anew.
std::optional<CellResult> finished(const StudyCell& cell, const std::string& path, bool overwrite) {
  if (!fs::exists(path)) return {};
  Json asked = identity(cell);
  try {
    Json json = Json::parse(read_file(path));
    const std::string& before = json.at("of").at("config").get_ref<const std::string&>();
    const std::string& now = asked.at("config").get_ref<const std::string&>();
    if (before != now) {
      if (overwrite) return {};
      fail_user(
          "{}: the study has changed since this model was trained ({}); give another --run, or "
          "--overwrite to train it anew",
          path, first_difference(before, now));
    }
    if (json.at("of").at("test") != asked.at("test")) return {};
    return result_of(json.at("result"));
  } catch (const Json::exception&) {
    if (overwrite) return {};
    fail_user("{}: is damaged; --overwrite measures the trained model anew", path);
  }
}

std::string checkpoint_of(const StudyCell& cell, const CellRun& run) {
  return run.folder + "/" + cell.test.checkpoint + ".safetensors";
}

void measure_gradients(const StudyCell& cell, const LoadedModel& trained, CellResult& result) {
  std::vector<Example> examples =
      test_examples(*cell.test_data, {cell.test.gradient_length}, cell.test.gradient_examples);
  std::unique_ptr<EncoderDecoder> fresh =
      cell.recipe.model(trained.source.size(), trained.target.size());
  fresh->initialize(cell.recipe.seed);
  result.gradients.start = last_output_gradients(*fresh, examples);
  result.gradients.end = last_output_gradients(*trained.model, examples);
}

/// Nothing where it was told to stop.
std::optional<CellResult> measure(const StudyCell& cell, const CellRun& run,
                                  const TrainResult& training) {
  auto stopped = [&] { return run.stop && run.stop->load(); };
  LoadedModel trained = load_model(checkpoint_of(cell, run));
  std::unique_ptr<Dataset> data =
      make_dataset(trained.recipe.data, trained.recipe.seed, trained.recipe.train.batch,
                   trained.source, trained.target);
  const auto* task = std::get_if<TaskDataOptions>(&trained.recipe.data);
  CellResult result{.parameters = trained.model->parameter_count(),
                    .steps = training.step,
                    .seconds = read_learning_curve(run.folder).seconds,
                    .longest = task ? task->task->max_length() : 0,
                    .held_out = {},
                    .by_length = {},
                    .gradients = {}};
  const std::vector<Example>& own = data->held_out(measured_split(trained.recipe.data));
  result.held_out = evaluate(*trained.model, own, {.bucket = task ? int64_t{1} : cell.test.bucket});
  if (!std::isfinite(result.held_out.all.nll)) fail("the trained model's nll is not finite");
  if (cell.test.lengths.empty()) result.by_length = result.held_out.by_length;
  for (int64_t length : cell.test.lengths) {
    if (stopped()) return {};
    std::vector<Example> examples = test_examples(*cell.test_data, {length}, cell.test.examples);
    for (const Evaluation::Length& row : evaluate(*trained.model, examples).by_length)
      result.by_length.push_back(row);
  }
  if (stopped()) return {};
  if (cell.test.bleu) result.bleu = bleu(*trained.model, own, trained.recipe.decode);
  if (cell.test.gradient_length > 0) measure_gradients(cell, trained, result);
  return result;
}

/// Before the first step: a sentence of the test that the model's positions do not reach.
void check_positions(const StudyCell& cell) {
  if (!cell.test_data) return;
  const Task& task = *cell.test_data->task;
  PositionLimits limits = position_limits(
      *cell.recipe.model(task.source_vocabulary().size(), task.target_vocabulary().size()));
  if (!limits.any()) return;
  std::vector<int64_t> lengths = cell.test.lengths;
  if (cell.test.gradient_length > 0) lengths.push_back(cell.test.gradient_length);
  for (const Example& example : test_examples(*cell.test_data, lengths, cell.test.examples))
    if (std::optional<TooLong> problem = too_long(example, limits))
      fail_user("test: {} of length {} has {}",
                problem->source ? "a source" : "the target of a source", example.source.size(),
                problem->text);
}

/// How to go on in a folder that may hold something. UserError where that is not possible and
/// nothing may be replaced.
TrainRun::Start start_of(const StudyCell& cell, const CellRun& run) {
  auto has = [&](const char* name) { return fs::exists(run.folder + "/" + name); };
  bool same =
      has("config.yaml") && read_file(run.folder + "/config.yaml") == cell.recipe.resolved.yaml();
  // A run writes its models first and its state last, so a state that is newer than a model had
  // both; a kill between the two is gone on from.
  auto time_of = [&](const char* name) { return fs::last_write_time(run.folder + "/" + name); };
  auto newer_state = [&](const char* name) {
    return has(name) && time_of("state.safetensors") >= time_of(name);
  };
  bool lost = has("state.safetensors") && !fs::exists(checkpoint_of(cell, run)) &&
              (newer_state("best.safetensors") || newer_state("last.safetensors"));
  if (same && has("state.safetensors") && !lost) return TrainRun::Start::kResume;
  bool holds_run = has("config.yaml") || has("best.safetensors") || has("last.safetensors");
  if (!holds_run) return TrainRun::Start::kFresh;
  if (!run.overwrite)
    fail_user("{}: {}; --overwrite trains this model anew", run.folder,
              same ? "files of the run are missing"
                   : "holds a run of another configuration (the study has changed since)");
  return TrainRun::Start::kOverwrite;
}

/// The files of the texts that a configuration names.
void check_files(const StudyCell& cell) {
  const auto* corpus = std::get_if<CorpusOptions>(&cell.recipe.data);
  if (!corpus) return;
  for (const TextPair* pair : {&corpus->train, &corpus->valid, &corpus->test})
    for (const std::string& path : {pair->source, pair->target})
      if (!path.empty() && !fs::exists(path))
        fail_user("{}: no such file; {} needs it", path, cell.label());
}

}  // namespace

double CellResult::metric(const std::string& name) const {
  if (name == "bleu") return bleu < 0 ? std::numeric_limits<double>::quiet_NaN() : bleu;
  return held_out.metric(name);
}

double CellResult::half_right_length() const {
  if (by_length.empty()) return std::numeric_limits<double>::quiet_NaN();
  auto at = [&](size_t i) { return static_cast<double>(by_length[i].from); };
  auto right = [&](size_t i) { return by_length[i].measures.sequence_accuracy; };
  // From the end: the last length that is still half right.
  for (size_t i = by_length.size(); i-- > 0;) {
    if (right(i) < 0.5) continue;
    if (i + 1 == by_length.size()) return at(i);
    return at(i) + (right(i) - 0.5) / (right(i) - right(i + 1)) * (at(i + 1) - at(i));
  }
  return at(0);
}

bool CellResult::half_right_to_the_end() const {
  return !by_length.empty() && by_length.back().measures.sequence_accuracy >= 0.5;
}

void check_cell(const StudyCell& cell, const CellRun& run) {
  if (finished(cell, run.folder + "/result.json", run.overwrite)) return;
  start_of(cell, run);
  check_files(cell);
  check_positions(cell);
}

CellOutcome run_cell(const StudyCell& cell, const CellRun& run) {
  std::string result_path = run.folder + "/result.json";
  if (std::optional<CellResult> kept = finished(cell, result_path, run.overwrite))
    return {.result = *kept, .interrupted = false, .kept = true};
  TrainRun training;
  training.folder = run.folder;
  training.start = start_of(cell, run);
  training.log_file = false;
  training.stop = run.stop;
  training.on_progress = run.on_progress;
  std::error_code ignored;  // an older result must not outlive its model
  fs::remove(result_path, ignored);
  TrainResult trained = train(cell.recipe, training);
  std::optional<CellResult> result;
  if (!trained.interrupted) {
    if (!fs::exists(checkpoint_of(cell, run)))
      fail_user("{}: the trained model is gone; remove the folder to train it anew",
                checkpoint_of(cell, run));
    result = measure(cell, run, trained);
  }
  if (!result) return {.result = {}, .interrupted = true};
  write_file(result_path,
             json_text({{"of", identity(cell)}, {"result", json_of(*result)}}, 1) + "\n");
  return {.result = std::move(*result)};
}

}  // namespace lookback
