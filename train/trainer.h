#pragma once

#include <atomic>
#include <functional>
#include <optional>
#include <string>

#include "core/profile.h"
#include "train/evaluate.h"
#include "train/recipe.h"

namespace lookback {

/// What a step tells whoever watches.
struct Progress {
  int64_t step = 0, total_steps = 0;
  double loss = 0;  ///< mean since the last report
  double nll = 0;
  double learning_rate = 0;
  double gradient_norm = 0;
  double tokens_per_second = 0;  ///< target tokens
  double elapsed = 0;            ///< seconds of this run
};

/// What is known when everything is built and the first step is about to come.
struct TrainStart {
  int64_t step = 0;  ///< where a resumed run goes on; else 0
  int64_t total_steps = 0;
  int64_t parameters = 0;  ///< of the model
  int64_t threads = 0, shards = 0;
  std::string data;  ///< Dataset::description()
};

struct TrainRun {
  enum class Start { kFresh, kResume, kOverwrite };
  std::string
      folder;  ///< of the run; empty: nothing is written (for programs that keep the model in hand)
  Start start = Start::kFresh;
  bool profile = false;                   ///< TrainResult::profile says where the time went
  std::optional<Products> products = {};  ///< instead of `train.precision`: for tests
  bool log_file = true;  ///< log.txt is kept; false where several runs share the process's one log
  const std::atomic<bool>* stop =
      nullptr;  ///< set by a signal: end after this step, with everything saved
  std::function<void(const TrainStart&)> on_start;
  std::function<void(const Progress&)> on_progress;  ///< every log_every steps
  std::function<void(int64_t step, const Evaluation&, bool best)> on_validation;
};

struct TrainResult {
  std::unique_ptr<EncoderDecoder> model;  ///< at the last step
  std::unique_ptr<Dataset> data;
  int64_t step = 0;
  int64_t best_step = 0;
  double best_metric = 0;
  double seconds = 0;
  int64_t steps_made = 0;                ///< in this run, without those before it was resumed
  std::optional<ProfileReport> profile;  ///< of the loop over steps
  int64_t skipped = 0;                   ///< steps left out for gradients that were not finite
  bool interrupted = false;              ///< `stop` was set
  Evaluation last;                       ///< the last validation
};

/// Trains by a recipe. With a folder it holds afterwards: config.yaml (resolved), metrics.jsonl,
/// log.txt, source and target vocabularies, best.safetensors, last.safetensors, and
/// state.safetensors, from which `kResume` goes on bit for bit as if it had not been interrupted. A
/// folder that holds a run is refused unless the start says otherwise.
TrainResult train(const Recipe& recipe, const TrainRun& run);

}  // namespace lookback
