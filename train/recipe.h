#pragma once

#include <string>

#include "core/config.h"
#include "core/products.h"
#include "models/build.h"
#include "models/decode.h"
#include "train/dataset.h"
#include "train/optimizer.h"
#include "train/schedule.h"

namespace lookback {

/// The `train` section.
struct TrainOptions {
  int64_t steps = 0;   ///< optimiser steps; exactly one of `steps` and `epochs` is given
  int64_t epochs = 0;  ///< passes over a finite training set
  BatchOptions batch;
  OptimizerPlan optimizer;
  ScheduleMaker schedule;
  double clip_norm = 1;           ///< global norm that gradients are scaled down to; 0 is off
  double label_smoothing = 0;     ///< see cross_entropy
  int64_t accumulate = 1;         ///< batches whose gradients make one step
  std::string precision = "f32";  ///< or `bf16`: what the products of a step multiply
  int64_t threads = -1;           ///< `auto`: the cores of this machine
  int64_t shards =
      -1;  ///< `auto`: likewise, but a sentence each; recorded, for the bits depend on it
  bool automatic_shards = false;             ///< worked out from the cores, not given
  int64_t log_every = 50;                    ///< steps between lines of progress
  int64_t validate_every = 200;              ///< steps between validations and checkpoints
  std::string metric = "sequence_accuracy";  ///< what decides which checkpoint is the best
  int64_t patience = 0;  ///< validations without a better one before stopping; 0 is off

  /// What `precision` means on this machine; floats, with a warning, where it has no products of bf16.
  Products products() const;
  /// How many threads `threads` means on this machine.
  int thread_count() const;
};

/// A whole configuration, read and checked: nothing is built and no data is opened yet.
struct Recipe {
  std::string name;
  uint64_t seed = 1;
  DataOptions data;
  ModelMaker model;
  TrainOptions train;
  DecodeOptions decode;
  Config resolved;  ///< every key with its value, defaults included
};

/// Reads `name`, of which a folder is called: no path, no hidden file, no control character.
void read_name(Section& root, std::string& name);

/// Reads a configuration. UserError, with its place, for the first thing that is wrong in it.
Recipe read_recipe(const Config& config);

}  // namespace lookback
