#include "train/trainer.h"

#include "cli/cli.h"
#include "cli/profile.h"
#include "cli/progress.h"
#include "core/log.h"

namespace lookback::cli {
namespace {

struct Options {
  std::string config, folder;
  std::vector<std::string> settings;
  bool resume = false, overwrite = false, profile = false;
};

Recipe read(const Options& options, int64_t threads) {
  Config config = Config::from_file(options.config);
  for (const std::string& setting : options.settings) config.set(setting);
  if (threads > 0) config.set(format("train.threads={}", threads));
  return read_recipe(config);
}

/// The command that goes on with the run, whatever settings it was started with.
std::string resume_command(const std::string& folder) {
  return format("{} train {} --run {} --resume", quoted(program()), quoted(folder + "/config.yaml"),
                quoted(folder));
}

void announce(const Recipe& recipe, const TrainStart& start, const std::string& folder) {
  log_info("{}: {} on {}", recipe.name, counted(start.parameters, "parameter"), start.data);
  log_info("{} to go{}, {}, {}; run folder {}", counted(start.total_steps - start.step, "step"),
           start.step > 0 ? format(" after the {} done", start.step) : "",
           counted(start.threads, "thread"), counted(start.shards, "shard"), folder);
}

/// A page is no reason for a run that went well to fail.
void report_on(const std::string& folder) {
  try {
    write_run_report(folder);
  } catch (const std::exception& error) {
    log_warn("{}/report.html was not written: {}", folder, error.what());
  }
}

void conclude(const Recipe& recipe, const TrainResult& result, const std::string& folder) {
  if (result.skipped > 0)
    log_warn("{} skipped for gradients that were not finite", counted(result.skipped, "step"));
  if (result.interrupted) {
    log_info("interrupted after step {}; everything is saved. To go on:\n  {}", result.step,
             resume_command(folder));
    return;
  }
  const Measures& last = result.last.all;
  log_info("done: {} in {}; validation nll {:.4f}, tokens {:.2f}%, sequences {:.2f}% exactly right",
           counted(result.step, "step"), duration(result.seconds), last.nll,
           100 * last.token_accuracy, 100 * last.sequence_accuracy);
  if (result.best_step > 0)
    log_info("best {}: {:.4f} at step {}, kept in {}/best.safetensors", recipe.train.metric,
             result.best_metric, result.best_step, folder);
  log_info("its curves as a page: {}/report.html", folder);
  log_info("next:\n  {0} evaluate {1}\n  {0} translate {1} < SOURCE > TARGET", quoted(program()),
           quoted(folder));
}

}  // namespace

int train(const Words& words) {
  Options options;
  Arguments arguments(
      "train",
      "Trains the model that a configuration describes. The run folder then holds the resolved\n"
      "configuration, the best and the last model, metrics.jsonl, log.txt and all that --resume "
      "needs.\n"
      "Ctrl-C ends the run after its step, with everything saved (exit code 130).",
      "  lookback train configs/copy_bahdanau.yaml\n"
      "  lookback train configs/copy_bahdanau.yaml --set seed=2 --set train.steps=500 --run "
      "runs/seed2\n"
      "  lookback train runs/seed2/config.yaml --run runs/seed2 --resume");
  arguments.needed("CONFIG", options.config, "A configuration (YAML)");
  arguments.texts("--set", "KEY=VALUE", options.settings,
                  "Set a key of the configuration, like train.steps=500; may be repeated");
  arguments.text("--run", "DIR", options.folder, "The run folder (default runs/NAME)");
  arguments.flag("--resume", options.resume,
                 "Go on with the run in the folder, as if it had never stopped");
  arguments.flag("--overwrite", options.overwrite, "Replace the run in the folder");
  arguments.flag(
      "--profile", options.profile,
      "At the end, say where the time went: steps, data, validation, checkpoints, logging");
  arguments.threads();
  if (!arguments.parse(words)) return 0;
  if (options.resume && options.overwrite)
    fail_user("train: --resume and --overwrite contradict each other; give one of them");

  Recipe recipe = read(options, arguments.given_threads());
  std::string folder = options.folder.empty() ? "runs/" + recipe.name : options.folder;
  while (folder.size() > 1 && folder.ends_with('/')) folder.pop_back();
  ProgressLine progress;
  TrainRun run;
  run.folder = folder;
  run.profile = options.profile;
  if (options.resume) run.start = TrainRun::Start::kResume;
  if (options.overwrite) run.start = TrainRun::Start::kOverwrite;
  run.stop = &interrupted();
  run.on_start = [&](const TrainStart& start) {
    announce(recipe, start, folder);
    progress.start(start);
  };
  run.on_progress = [&](const Progress& p) { progress.step(p); };
  run.on_validation = [&](int64_t step, const Evaluation& evaluation, bool best) {
    progress.validation(step, evaluation, best);
  };
  listen_for_signals();
  TrainResult result = lookback::train(recipe, run);
  ProgressLine::finish();
  if (!result.interrupted) report_on(folder);
  conclude(recipe, result, folder);
  if (result.profile) log_info("{}", time_line(*result.profile, result.steps_made));
  return result.interrupted ? kInterrupted : 0;
}

}  // namespace lookback::cli
