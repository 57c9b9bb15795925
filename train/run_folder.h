#pragma once

#include <optional>
#include <string>

#include "core/json.h"
#include "train/folder_lock.h"
#include "train/trainer.h"

namespace lookback {

/// The files of one training run. A run folder is recognised by its config.yaml.
class RunFolder {
 public:
  /// Takes the folder, making it if need be. A folder that holds a run is refused on a fresh start;
  /// kOverwrite removes that run's own files first; kResume wants state.safetensors to be there.
  /// While it lives no other process can train in the folder.
  RunFolder(const std::string& path, TrainRun::Start start);

  std::string file(const std::string& name) const { return path_ + "/" + name; }
  /// Appends one line to metrics.jsonl.
  void metric(const Json& line) const;
  /// Drops the lines of metrics.jsonl past a step: what an interrupted run did after its last saved
  /// state is done again.
  void cut_metrics_after(int64_t step) const;
  /// Fits a recipe to the run that it is to go on with. Shards that it left to the machine become the run's
  /// own, which another number of cores may have decided. Any other difference is refused by the first key
  /// that differs; only how long to train, threads, and how often to report may change.
  void adopt_config(Recipe& recipe) const;

 private:
  std::string path_;
  std::optional<FolderLock> lock_;
};

}  // namespace lookback
