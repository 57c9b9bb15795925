#pragma once

#include <string>
#include <vector>

#include "study/figure.h"

namespace lookback {

/// What metrics.jsonl of a run folder tells.
struct LearningCurve {
  std::vector<double> train_step, train_nll;
  std::vector<double> valid_step, valid_nll, valid_sequence_accuracy;
  double seconds = 0;  ///< of training, over all the parts of an interrupted run
};
/// Empty where the file is missing; lines that are no JSON (a kill in mid-write) are passed over.
LearningCurve read_learning_curve(const std::string& run_folder);

/// Validation sequence accuracy, or nll, by step: the mean of several runs of one model where they
/// agree in steps.
Series mean_curve(const std::string& name, const std::vector<LearningCurve>& runs, bool accuracy);

}  // namespace lookback
