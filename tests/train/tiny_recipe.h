#pragma once

#include <string>
#include <vector>

#include "train/recipe.h"

namespace lookback {

/// A small copy task that trains in milliseconds, with whatever `--set` assignments a test wants.
inline Recipe tiny_recipe(const std::vector<std::string>& changes = {}) {
  Config config = Config::from_text(R"(
name: tiny
seed: 3
data:
  task: {type: copy, symbols: 8, min_length: 1, max_length: 6}
  same_length: false
  held_out: {seed: 1, examples: 40}
model:
  encoder: {cell: gru, embedding: 6, hidden: 8}
  decoder: {cell: gru, embedding: 6, hidden: 8}
  attention: {type: bahdanau}
train:
  steps: 20
  batch: {size: 8}
  optimizer: {type: adam, lr: 0.01}
  schedule: {type: linear_decay, warmup: 3}
  shards: 2
  log_every: 3
  validate: {every: 5}
)",
                                    "tiny.yaml");
  for (const std::string& change : changes) config.set(change);
  return read_recipe(config);
}

}  // namespace lookback
