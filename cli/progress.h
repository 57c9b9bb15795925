#pragma once

#include <string>

#include "train/trainer.h"

namespace lookback::cli {

/// Shows how a run goes on: on a terminal in one line that is drawn anew, elsewhere in a line a
/// report.
class ProgressLine {
 public:
  void start(const TrainStart& start) { first_step_ = start.step; }
  void step(const Progress& progress);
  void validation(int64_t step, const Evaluation& evaluation, bool best);
  /// Takes the line off the terminal.
  static void finish();

 private:
  void show(const std::string& line) const;

  int64_t first_step_ = 0;
  std::string steps_, validation_, speed_;  // pieces of the line on the terminal
};

/// `4.2s`, `42s`, `3m05s`, `1h02m`
std::string duration(double seconds);

}  // namespace lookback::cli
