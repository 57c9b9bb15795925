#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/config.h"
#include "models/batch.h"

namespace lookback {

/// How many examples make a batch: `size` sentences, or as many as keep the padded target, B x T
/// with end marks, within `size` tokens. A longer single sentence still makes a batch of one.
struct BatchOptions {
  int64_t size = 64;
  std::string unit = "sentences";  ///< or tokens
  bool operator==(const BatchOptions&) const = default;
};
void read(Section& section, BatchOptions& options);

/// Decides, example by example, where a batch is full.
class BatchFill {
 public:
  explicit BatchFill(const BatchOptions& options)
      : size_(options.size), tokens_(options.unit == "tokens") {}
  /// Whether the example still fits; then it counts as taken.
  bool take(const Example& example);
  void clear() { count_ = longest_ = 0; }

 private:
  int64_t size_;
  bool tokens_;
  int64_t count_ = 0, longest_ = 0;
};

/// Which examples come together.
enum class Grouping {
  kMixed,       ///< any
  kNearLength,  ///< of similar lengths: sorted inside pools of about 64 batches
  kSameLength,  ///< of one source length
};

/// Indices of the examples of one batch.
using BatchIndices = std::vector<int64_t>;

/// The batches of one epoch: each example exactly once, in an order that depends on (seed, epoch)
/// alone.
std::vector<BatchIndices> plan_epoch(std::span<const Example> examples, const BatchOptions& options,
                                     Grouping grouping, uint64_t seed, int64_t epoch);

/// Each example exactly once, sorted by length, for evaluation.
std::vector<BatchIndices> batches_by_length(std::span<const Example> examples,
                                            const BatchOptions& options);

/// The batches of a finite training set, numbered from step 0 through all epochs. Remembers one
/// epoch's plan; what it answers does not depend on earlier questions. Not for several threads at
/// once.
class EpochBatches {
 public:
  EpochBatches(std::span<const Example> examples, const BatchOptions& options, Grouping grouping,
               uint64_t seed);
  const BatchIndices& batch(int64_t step);
  /// Batches in the first `epochs` epochs.
  int64_t steps_in_epochs(int64_t epochs);

 private:
  const std::vector<BatchIndices>& plan(int64_t epoch);

  std::span<const Example> examples_;  // must outlive this
  BatchOptions options_;
  Grouping grouping_;
  uint64_t seed_;
  std::vector<int64_t> starts_ = {0};  // first step of each epoch known so far
  int64_t planned_ = -1;
  std::vector<BatchIndices> plan_;
};

}  // namespace lookback
