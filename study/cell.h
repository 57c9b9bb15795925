#pragma once

#include <atomic>
#include <functional>
#include <string>
#include <vector>

#include "core/json.h"
#include "study/plan.h"
#include "train/evaluate.h"
#include "train/trainer.h"

namespace lookback {

/// The gradients of the path (source_gradients.h): by source position, before the first training
/// step and after the last.
struct PathGradients {
  std::vector<double> start, end;
};

/// What one trained cell measured.
struct CellResult {
  int64_t parameters = 0;
  int64_t steps = 0;
  double seconds = 0;   ///< of training, on one core beside others
  int64_t longest = 0;  ///< source length in training; 0 where the data are text
  Evaluation held_out;  ///< on its own test set: the lengths it was trained on
  std::vector<Evaluation::Length> by_length;  ///< StudyTest::lengths, or buckets of text
  double bleu = -1;                           ///< -1: not measured
  PathGradients gradients;                    ///< empty: not measured

  /// `sequence_accuracy`, ..., `bleu`, of the own test set. NaN where it was not measured.
  double metric(const std::string& name) const;
  /// The greatest source length at which one half of the sentences are right, on a straight line
  /// between the lengths tested; the shortest where none has so many. NaN without lengths.
  double half_right_length() const;
  /// Whether that is the longest length tested: the true one may be greater.
  bool half_right_to_the_end() const;
};

/// Trains a cell in `folder`, which becomes a run folder (train/trainer.h), and measures its model. A cell that was interrupted goes on; one that is finished is read from its result.json.
/// UserError where the folder holds a cell of another configuration. The result is written last.
struct CellRun {
  std::string folder;
  bool overwrite = false;  ///< what the folder holds of another configuration is replaced
  const std::atomic<bool>* stop = nullptr;
  std::function<void(const Progress&)> on_progress = {};
};
struct CellOutcome {
  CellResult result;
  bool interrupted = false;  ///< there is no result
  bool kept = false;         ///< it had been finished before
};
/// UserError for what would keep run_cell() from starting, before anything is trained or written.
void check_cell(const StudyCell& cell, const CellRun& run);
CellOutcome run_cell(const StudyCell& cell, const CellRun& run);

}  // namespace lookback
