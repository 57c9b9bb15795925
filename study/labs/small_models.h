#pragma once

#include <string>
#include <vector>

#include "study/labs.h"
#include "train/trainer.h"

namespace lookback {

/// A small model that a lab trains: a task and a model, in memory.
struct SmallModel {
  std::string name;
  std::string model;  ///< the section `model`, YAML in one line
  double rate = 3e-3;
  int64_t steps = 1500;
  uint64_t seed = 1;
};
struct SmallTask {
  std::string task;  ///< the section `data.task`, YAML in one line
  int64_t held_out = 400;
};

/// `cell: gru` with or without attention, one layer of `hidden` units each side.
std::string recurrent(const std::string& cell, const std::string& attention, int64_t hidden = 64,
                      int64_t embedding = 32);
/// A Transformer of 64 units and 4 heads, pre-norm.
std::string small_transformer(int64_t layers);

Recipe small_recipe(const SmallTask& task, const SmallModel& model);
/// One after another or side by side, each on one thread. Interrupted when stopped.
std::vector<TrainResult> train_all(const SmallTask& task, const std::vector<SmallModel>& models,
                                   const LabOptions& options);
/// Not trained: at its start weights.
TrainResult untrained(const SmallTask& task, const SmallModel& model);

}  // namespace lookback
