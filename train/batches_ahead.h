#pragma once

#include <exception>
#include <vector>

#include "train/dataset.h"

namespace lookback {

/// The batches of a training's steps, made while the step before runs where that is possible. What a step gets
/// depends on its number alone, so nothing of this is part of a run's state.
class BatchesAhead {
 public:
  /// `count` batches a step.
  BatchesAhead(Dataset& data, int64_t count) : data_(data), count_(count) {}

  /// Those of a step: the ones made ahead, or made now. An error that making them ahead met is
  /// thrown here, where it would have come up without.
  std::vector<Batch> take(int64_t step);
  /// Makes those of a step ahead. On any thread, but not beside another call or use of the data.
  void make(int64_t step) noexcept;

 private:
  std::vector<Batch> batches(int64_t step);

  Dataset& data_;
  int64_t count_;
  int64_t made_ = -1;  // the step of `ahead_`
  std::vector<Batch> ahead_;
  std::exception_ptr error_;
};

}  // namespace lookback
