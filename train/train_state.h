#pragma once

#include <string>

#include "train/checkpoint.h"
#include "train/optimizer.h"

namespace lookback {

/// Everything that the rest of a run depends on besides its config: with it, a resumed run
/// continues bit for bit. Samples and data order need no memory: they are functions of (seed,
/// step).
struct TrainState {
  int64_t step = 0;       ///< steps made
  int64_t best_step = 0;  ///< of the best validation so far; 0 before the first
  double best_metric = 0;
  int64_t strikes = 0;         ///< validations since then
  int64_t skipped = 0;         ///< steps left out, gradients not being finite
  int64_t skipped_in_row = 0;  ///< of these, the latest without a good one between
  /// Sums since the last line of progress.
  double loss = 0, nll = 0;
  int64_t steps_summed = 0;

  /// Writes state.safetensors: this, the parameters, and the optimiser's tensors.
  void save(const std::string& path, const Module& model, const Optimizer& optimizer) const;
  static TrainState load(const std::string& path, Module& model, Optimizer& optimizer);
};

}  // namespace lookback
