#include "study/study.h"

#include <map>

#include "cli/cli.h"
#include "cli/progress.h"
#include "core/log.h"
#include "study/study_report.h"

namespace lookback::cli {
namespace {

struct Options {
  std::string study, folder;
  StudyForm form;
  int64_t jobs = 0;
  bool overwrite = false, json = false, list = false;
};

/// How this study is started again.
std::string command_of(const Options& options, const std::string& folder) {
  std::string text = format("{} study {}", quoted(program()), quoted(options.study));
  if (options.form.full) text += " --full";
  if (options.form.seeds > 0) text += format(" --seeds {}", options.form.seeds);
  for (const std::string& setting : options.form.settings) text += " --set " + quoted(setting);
  if (options.overwrite) text += " --overwrite";
  return text + " --run " + quoted(folder);
}

/// On a terminal one line with the cells that are being trained; elsewhere a line a finished cell.
class Watch {
 public:
  StudyWatch watch() {
    return {.on_start =
                [this](int64_t cells, int64_t jobs) {
                  cells_ = cells;
                  log_info("{}, {} at a time; finished ones are kept", counted(cells, "model"),
                           jobs);
                },
            .on_progress = [this](const StudyCell& cell, const Progress& p) { step(cell, p); },
            .on_cell = [this](const StudyResults::Entry& entry, int64_t done,
                              int64_t cells) { ended(entry, done, cells); }};
  }

 private:
  void step(const StudyCell& cell, const Progress& p) {
    running_[cell.folder] = format("{} {}/{}", cell.label(), p.step, p.total_steps);
    show();
  }
  void ended(const StudyResults::Entry& entry, int64_t done, int64_t cells) {
    running_.erase(entry.cell->folder);
    done_ = done;
    if (!entry.failure.empty()) {
      log_warn("[{}/{}] {}: failed: {}", done, cells, entry.cell->label(), entry.failure);
    } else {
      const CellResult& r = *entry.result;
      log_info("[{}/{}] {}: nll {:.3f}, {:.1f}% exactly right, {}", done, cells,
               entry.cell->label(), r.held_out.all.nll, 100 * r.held_out.all.sequence_accuracy,
               entry.kept ? "kept" : duration(r.seconds));
    }
    show();
  }
  void show() const {
    std::string line = format("{}/{}", done_, cells_);
    for (const auto& [folder, text] : running_) line += "  " + text;
    log_status(line);
  }

  int64_t cells_ = 0, done_ = 0;
  std::map<std::string, std::string> running_;
};

Json as_json(const StudyPlan& plan, const StudyResults& results, const std::string& folder) {
  Json cells = Json::array();
  for (const StudyResults::Entry& entry : results.entries) {
    Json cell = Json::object();
    for (size_t i = 0; i < plan.axes.size(); ++i)
      cell["choices"][plan.axes[i].name] = entry.cell->choices[i];
    cell["seed"] = entry.cell->seed;
    if (!entry.failure.empty()) cell["failure"] = entry.failure;
    if (entry.result) {
      cell["parameters"] = entry.result->parameters;
      cell["seconds"] = entry.result->seconds;
      cell["half_right_length"] = entry.result->half_right_length();
      Json measured = Evaluation{entry.result->held_out.all, entry.result->by_length}.json();
      cell.update(measured);
      if (entry.result->bleu >= 0) cell["bleu"] = entry.result->bleu;
    }
    cells.push_back(std::move(cell));
  }
  return {{"study", plan.name},
          {"folder", folder},
          {"finished", results.finished()},
          {"failed", results.failed()},
          {"cells", cells}};
}

std::string list_of(const StudyPlan& plan) {
  std::string text;
  for (const StudyCell& cell : plan.cells) text += cell.label() + "\n";
  return text + counted(static_cast<int64_t>(plan.cells.size()), "model") + "\n";
}

}  // namespace

int study(const Words& words) {
  Options options;
  Arguments arguments(
      "study",
      "Trains every model of a study: a base configuration, what varies, seeds. Then measures them "
      "alike and\n"
      "writes results.csv, means.csv, figures and report.html into the study's folder. Models that "
      "are finished\n"
      "are not trained again, so a study that was interrupted is gone on with by the same command.",
      "  lookback study configs/studies/bottleneck.yaml\n"
      "  lookback study configs/studies/bottleneck.yaml --full --run runs/bottleneck_full\n"
      "  lookback study configs/studies/capacity.yaml --list\n"
      "  lookback study configs/studies/path.yaml --seeds 1 --set train.steps=200 --run runs/try");
  arguments.needed("STUDY", options.study, "A study (YAML)");
  arguments.text("--run", "DIR", options.folder, "The study's folder (default runs/NAME)");
  arguments.flag("--full", options.form.full,
                 "The long form: with what the study's key `full` says");
  arguments.texts("--set", "KEY=VALUE", options.form.settings,
                  "Set a key of every model's configuration, like train.steps=100, or of the test, "
                  "like\ntest.examples=20; may be repeated");
  arguments.whole("--seeds", options.form.seeds, between(1, 1000),
                  "Seeds 1 to N instead of the study's own");
  arguments.whole("--jobs", options.jobs, between(1, 1024),
                  "Models that are trained side by side (default: as many as threads)");
  arguments.flag("--overwrite", options.overwrite,
                 "Train models anew whose configuration has changed since");
  arguments.flag("--list", options.list, "Only list the models");
  arguments.flag("--json", options.json, "Print one JSON object instead of the report");
  arguments.threads();
  if (!arguments.parse(words)) return 0;

  if (options.list && options.json)
    fail_user("study: --list and --json contradict each other; give one of them");
  StudyPlan plan = read_study(Config::from_file(options.study), options.form);
  if (options.list) {
    print(list_of(plan));
    return 0;
  }
  std::string folder = options.folder.empty() ? "runs/" + plan.name : options.folder;
  while (folder.size() > 1 && folder.ends_with('/')) folder.pop_back();
  std::string command = command_of(options, folder);
  Watch watch;
  listen_for_signals();
  StudyResults results = run_study(plan, {.folder = folder,
                                          .jobs = options.jobs,
                                          .overwrite = options.overwrite,
                                          .stop = &interrupted(),
                                          .watch = watch.watch()});
  log_status("");
  if (results.interrupted) {
    log_info("interrupted with {} of {} finished; everything is saved. To go on:\n  {}",
             results.finished(), counted(static_cast<int64_t>(plan.cells.size()), "model"),
             command);
    return kInterrupted;
  }
  StudyReport report = make_report(plan, results, folder, command);
  write_report(plan, results, report, folder);
  if (options.json) {
    print_json(as_json(plan, results, folder));
  } else {
    print(plain_text(report.page));
  }
  log_info("{0}/report.html has the figures, {0}/results.csv every number", folder);
  if (results.failed() > 0)
    log_warn("{} failed; the same command tries again", counted(results.failed(), "model"));
  return results.failed() > 0 ? 1 : 0;
}

}  // namespace lookback::cli
