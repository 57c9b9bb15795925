#include "study/cell.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>

#include "core/files.h"
#include "study/source_gradients.h"
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

Measures measures_of(const Json& json) {
  return {.examples = json.at("examples"),
          .tokens = json.at("tokens"),
          .nll = json.at("nll"),
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
  CellResult r{.parameters = json.at("parameters"),
               .steps = json.at("steps"),
               .seconds = json.at("seconds"),
               .longest = json.at("longest"),
               .held_out = {},
               .by_length = {},
               .bleu = json.at("bleu"),
               .gradients = {json.at("gradients_start"), json.at("gradients_end")}};
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
  Json json = parse_json(read_file(path), path), asked = identity(cell);
  try {
    const std::string& before = json.at("of").at("config").get_ref<const std::string&>();
    const std::string& now = asked.at("config").get_ref<const std::string&>();
    if (before != now) {
      if (overwrite) return {};
      fail_user(
          "{}: the study has changed since this cell was trained ({}); give another --run, or "
          "--overwrite to train it anew",
          path, first_difference(before, now));
    }
    if (json.at("of").at("test") != asked.at("test")) return {};
    return result_of(json.at("result"));
  } catch (const Json::exception&) {
    fail_user("{}: is no result of a study's cell; remove it to train the cell anew", path);
  }
}

/// The task that also has the sentences that are longer, or shorter, than the trained ones.
TaskDataOptions test_data(const LoadedModel& trained, std::vector<int64_t> lengths,
                          const std::string& model_path) {
  const Config* data = trained.config.find("data");
  const Config* task = data ? data->find("task") : nullptr;
  std::vector<std::string> wider;
  auto [low, high] = std::minmax_element(lengths.begin(), lengths.end());
  const TaskDataOptions& own = std::get<TaskDataOptions>(trained.recipe.data);
  if (task && task->find("min_length") && *low < own.task->min_length())
    wider.push_back(format("data.task.min_length={}", *low));
  if (task && task->find("max_length") && *high > own.task->max_length())
    wider.push_back(format("data.task.max_length={}", *high));
  if (wider.empty()) return own;
  return std::get<TaskDataOptions>(load_model(model_path, wider).recipe.data);
}

void measure_gradients(const StudyCell& cell, const LoadedModel& trained, const std::string& path,
                       CellResult& result) {
  if (!std::holds_alternative<TaskDataOptions>(trained.recipe.data))
    fail_user("test.gradient_length: is for made-up tasks; the data are text");
  std::vector<int64_t> length = {cell.test.gradient_length};
  std::vector<Example> examples =
      test_examples(test_data(trained, length, path), length, cell.test.gradient_examples);
  if (examples.empty())
    fail_user("test.gradient_length: the task has no sources of length {}", length[0]);
  std::unique_ptr<EncoderDecoder> fresh =
      cell.recipe.model(trained.source.size(), trained.target.size());
  fresh->initialize(cell.recipe.seed);
  result.gradients.start = last_output_gradients(*fresh, examples);
  result.gradients.end = last_output_gradients(*trained.model, examples);
}

CellResult measure(const StudyCell& cell, const std::string& path, const TrainResult& training) {
  LoadedModel trained = load_model(path);
  std::unique_ptr<Dataset> data =
      make_dataset(trained.recipe.data, trained.recipe.seed, trained.recipe.train.batch,
                   trained.source, trained.target);
  const auto* task = std::get_if<TaskDataOptions>(&trained.recipe.data);
  CellResult result{.parameters = trained.model->parameter_count(),
                    .steps = training.step,
                    .seconds = training.seconds,
                    .longest = task ? task->task->max_length() : 0,
                    .held_out = {},
                    .by_length = {},
                    .gradients = {}};
  const std::vector<Example>& own = data->held_out(measured_split(trained.recipe.data));
  result.held_out = evaluate(*trained.model, own, {.bucket = task ? int64_t{1} : cell.test.bucket});
  result.by_length = result.held_out.by_length;
  if (!cell.test.lengths.empty()) {
    if (!task) fail_user("test.lengths: is for made-up tasks; for text give test.bucket");
    std::vector<Example> examples = test_examples(test_data(trained, cell.test.lengths, path),
                                                  cell.test.lengths, cell.test.examples);
    result.by_length = evaluate(*trained.model, examples, {.bucket = 1}).by_length;
  }
  if (!std::isfinite(result.held_out.all.nll)) fail("the trained model's nll is not finite");
  if (cell.test.bleu) result.bleu = bleu(*trained.model, own, trained.recipe.decode);
  if (cell.test.gradient_length > 0) measure_gradients(cell, trained, path, result);
  return result;
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
  if (right(0) < 0.5) return at(0);
  for (size_t i = 1; i < by_length.size(); ++i)
    if (right(i) < 0.5)
      return at(i - 1) + (right(i - 1) - 0.5) / (right(i - 1) - right(i)) * (at(i) - at(i - 1));
  return at(by_length.size() - 1);
}

CellOutcome run_cell(const StudyCell& cell, const CellRun& run) {
  std::string result_path = run.folder + "/result.json";
  if (std::optional<CellResult> kept = finished(cell, result_path, run.overwrite))
    return {.result = *kept, .interrupted = false, .kept = true};
  TrainRun training;
  training.folder = run.folder;
  training.log_file = false;
  training.stop = run.stop;
  training.on_progress = run.on_progress;
  // A folder is known to hold a run by its config, which is written after the first state.
  std::string config_path = run.folder + "/config.yaml";
  if (fs::exists(config_path))
    training.start = run.overwrite && read_file(config_path) != cell.recipe.resolved.yaml()
                         ? TrainRun::Start::kOverwrite
                         : TrainRun::Start::kResume;
  std::error_code ignored;  // an older result must not outlive its model
  fs::remove(result_path, ignored);
  TrainResult trained = train(cell.recipe, training);
  if (trained.interrupted) return {.result = {}, .interrupted = true};
  // The time of the whole run, of which this process may have made the last part only.
  CellResult result =
      measure(cell, run.folder + "/" + cell.test.checkpoint + ".safetensors", trained);
  write_file(result_path,
             json_text({{"of", identity(cell)}, {"result", json_of(result)}}, 1) + "\n");
  return {.result = std::move(result)};
}

}  // namespace lookback
