#pragma once

#include <string>
#include <vector>

#include "study/statistics.h"
#include "study/study.h"

namespace lookback {

/// The cells of one point of the grid: the same model with other seeds. Only finished ones.
struct StudyPoint {
  std::vector<std::string> choices;  ///< a label of each axis
  std::vector<const CellResult*> seeds;
  std::vector<std::string> folders;  ///< of each, under the study's

  /// Over seeds, of whatever a cell says.
  template <class Value>
  MeanInterval over_seeds(Value&& value) const {
    std::vector<double> values;
    for (const CellResult* result : seeds) values.push_back(value(*result));
    return mean_interval(values);
  }
};

/// In the order of the grid; a point none of whose cells is finished has no seeds.
std::vector<StudyPoint> points_of(const StudyPlan& plan, const StudyResults& results);

/// The labels of all axes but these, joined: `GRU fixed, D = 64`.
std::string name_of(const StudyPlan& plan, const StudyPoint& point,
                    const std::vector<std::string>& but = {});
/// The label of one axis.
const std::string& choice_of(const StudyPlan& plan, const std::vector<std::string>& choices,
                             const std::string& axis);

/// One row a cell and source length: the axes, seed, parameters, seconds, source_from, source_to,
/// examples, tokens, nll, token_accuracy, sequence_accuracy. Numbers are written so that they read
/// back the same.
std::string results_csv(const StudyPlan& plan, const StudyResults& results);
/// One row a cell, of its own test set: the axes, seed, parameters, steps, seconds, examples,
/// tokens, nll, token_accuracy, sequence_accuracy, bleu (empty where it was not measured),
/// half_right_length.
std::string cells_csv(const StudyPlan& plan, const StudyResults& results);
/// One row a point of the grid and source length: the mean over seeds of sequence_accuracy,
/// token_accuracy and nll with the 95% interval.
std::string means_csv(const StudyPlan& plan, const StudyResults& results);
/// One row a cell, moment and source position; empty where no gradients were measured.
std::string gradients_csv(const StudyPlan& plan, const StudyResults& results);

}  // namespace lookback
