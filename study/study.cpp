#include "study/study.h"

#include <algorithm>
#include <filesystem>
#include <mutex>

#include "core/files.h"
#include "study/threads_as_before.h"
#include "train/folder_lock.h"

namespace lookback {
namespace {

namespace fs = std::filesystem;

void make_folder(const std::string& path) {
  std::error_code error;
  fs::create_directories(path, error);
  if (error) fail_user("{}: the study's folder cannot be made: {}", path, error.message());
}

}  // namespace

int64_t StudyResults::finished() const {
  return std::count_if(entries.begin(), entries.end(),
                       [](const Entry& e) { return e.result.has_value(); });
}

int64_t StudyResults::failed() const {
  return std::count_if(entries.begin(), entries.end(),
                       [](const Entry& e) { return !e.failure.empty(); });
}

StudyResults run_study(const StudyPlan& plan, const StudyRun& run) {
  auto cell_run = [&](const StudyCell& cell) {
    return CellRun{.folder = run.folder + "/cells/" + cell.folder,
                   .overwrite = run.overwrite,
                   .stop = run.stop};
  };
  if (fs::exists(run.folder + "/config.yaml"))
    fail_user("{}: holds a training run; give another --run", run.folder);
  // Whatever is wrong leaves the folder, and older results in it, as they are.
  for (const StudyCell& cell : plan.cells) check_cell(cell, cell_run(cell));
  make_folder(run.folder);
  FolderLock lock(run.folder, "running a study");
  make_folder(run.folder + "/cells");
  write_file(run.folder + "/study.yaml", plan.resolved.yaml());

  StudyResults out;
  for (const StudyCell& cell : plan.cells) out.entries.push_back({&cell, {}, "", false});
  int64_t cells = static_cast<int64_t>(plan.cells.size());
  int64_t jobs = std::clamp<int64_t>(run.jobs > 0 ? run.jobs : threads(), 1, cells);
  if (run.watch.on_start) run.watch.on_start(cells, jobs);
  std::mutex telling;
  int64_t done = 0;
  ThreadsAsBefore restored;
  set_threads(static_cast<int>(jobs));
  parallel_tasks(cells, [&](int64_t i) {
    if (run.stop && run.stop->load()) return;
    StudyResults::Entry& entry = out.entries[static_cast<size_t>(i)];
    CellRun cell = cell_run(*entry.cell);
    if (run.watch.on_progress)
      cell.on_progress = [&](const Progress& progress) {
        std::lock_guard one_at_a_time(telling);
        run.watch.on_progress(*entry.cell, progress);
      };
    try {
      CellOutcome outcome = run_cell(*entry.cell, cell);
      if (outcome.interrupted) return;
      entry.result = std::move(outcome.result);
      entry.kept = outcome.kept;
    } catch (const std::bad_alloc&) {
      entry.failure = "not enough memory";
    } catch (const std::exception& error) {
      entry.failure = error.what();
    }
    std::lock_guard one_at_a_time(telling);
    out.kept += entry.kept;
    ++done;
    if (run.watch.on_cell) run.watch.on_cell(entry, done, cells);
  });
  out.interrupted = run.stop && run.stop->load() && done < cells;
  return out;
}

}  // namespace lookback
