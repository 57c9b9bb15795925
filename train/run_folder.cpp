#include "train/run_folder.h"

#include <filesystem>
#include <fstream>
#include <set>

#include "core/error.h"
#include "core/files.h"
#include "core/numbers.h"

namespace lookback {
namespace {

namespace fs = std::filesystem;

constexpr const char* kFiles[] = {
    "config.yaml",           "metrics.jsonl",         "log.txt",
    "best.safetensors",      "last.safetensors",      "state.safetensors",
    "source.vocabulary.txt", "target.vocabulary.txt", "report.html"};

}  // namespace

RunFolder::RunFolder(const std::string& path, TrainRun::Start start) : path_(path) {
  std::error_code error;
  bool holds_run = false;
  for (const char* name : {"config.yaml", "best.safetensors", "last.safetensors"})
    holds_run = holds_run || fs::exists(file(name), error);
  if (start == TrainRun::Start::kFresh && holds_run)
    fail_user(
        "{}: holds a run already; give --resume to go on with it, --overwrite to replace it, or another --run",
        path);
  if (fs::exists(file("study.yaml"), error))
    fail_user("{}: holds a study; give another --run", path);
  if (start == TrainRun::Start::kResume && !fs::exists(file("state.safetensors"), error))
    fail_user(
        "{}: holds no state to resume from (no state.safetensors); train without --resume first",
        path);
  // Before anything is touched: whatever could not be replaced later on.
  for (const char* name : kFiles)
    if (fs::is_directory(file(name), error))
      fail_user("{}: is a folder, where the run's file of that name belongs", file(name));
  fs::create_directories(path, error);
  if (error) fail_user("{}: the run folder cannot be made: {}", path, error.message());
  lock_.emplace(path, "training");
  // On a fresh start these are what a start that failed left behind.
  if (start != TrainRun::Start::kResume)
    for (const char* name : kFiles) {
      fs::remove(file(name), error);
      if (error) fail_user("{}: cannot be removed: {}", file(name), error.message());
    }
  // A killed process cannot remove what it was writing.
  for (const auto& entry : fs::directory_iterator(path, error))
    if (entry.path().extension() == ".tmp") fs::remove(entry.path(), error);
}

void RunFolder::metric(const Json& line) const {
  std::ofstream out(file("metrics.jsonl"), std::ios::app);
  out << json_text(line) << '\n';
  out.flush();
  if (!out) fail_user("{}: cannot be written (is the disk full?)", file("metrics.jsonl"));
}

void RunFolder::cut_metrics_after(int64_t step) const {
  std::string path = file("metrics.jsonl"), kept;
  if (!fs::exists(path)) return;
  for (const std::string& line : read_lines(path)) {
    // A kill in mid-write can leave half a line at the end.
    Json entry = Json::parse(line, nullptr, false);
    if (!entry.is_object() || !entry.contains("step") || !entry["step"].is_number_integer() ||
        entry["step"].get<int64_t>() > step)
      continue;
    kept += line + "\n";
  }
  write_file(path, kept);
}

namespace {

const std::set<std::string> kMayChange = {"train.steps", "train.epochs", "train.threads",
                                          "train.log_every", "train.validate.patience"};

/// The first path at which two resolved configurations differ, or nothing.
std::string first_difference(const Config& a, const Config& b, const std::string& path) {
  if (kMayChange.contains(path)) return "";
  if (a.kind() != b.kind() || a.scalar() != b.scalar() || a.items().size() != b.items().size())
    return path;
  for (size_t i = 0; i < a.items().size(); ++i)
    if (std::string at = first_difference(a.items()[i], b.items()[i], path); !at.empty()) return at;
  auto inner = [&](const std::string& key) { return path.empty() ? key : path + "." + key; };
  for (const auto& [key, value] : a.fields()) {
    const Config* other = b.find(key);
    if (!other) {
      if (kMayChange.contains(inner(key))) continue;
      return inner(key);
    }
    if (std::string at = first_difference(value, *other, inner(key)); !at.empty()) return at;
  }
  for (const auto& [key, value] : b.fields())
    if (!a.find(key) && !kMayChange.contains(inner(key))) return inner(key);
  return "";
}

}  // namespace

void RunFolder::adopt_config(Recipe& recipe) const {
  std::string path = file("config.yaml");
  Config before = Config::from_file(path);
  const Config* train = before.find("train");
  const Config* shards = train ? train->find("shards") : nullptr;
  if (recipe.train.automatic_shards && shards) {
    recipe.train.shards = parse_whole(shards->scalar()).value_or(recipe.train.shards);
    recipe.resolved.field("train").field("shards") = *shards;
  }
  std::string where = first_difference(before, recipe.resolved, "");
  if (where.empty()) return;
  fail_user(
      "{}: the run was started with another {}; resume with the config it was started with, or start a "
      "new run",
      path, where);
}

}  // namespace lookback
