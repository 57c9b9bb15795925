#include "train/batches_ahead.h"

#include <utility>

#include "core/profile.h"

namespace lookback {

std::vector<Batch> BatchesAhead::batches(int64_t step) {
  std::vector<Batch> out;
  for (int64_t i = 0; i < count_; ++i)
    out.push_back(make_batch(data_.training_examples(step * count_ + i)));
  return out;
}

std::vector<Batch> BatchesAhead::take(int64_t step) {
  ProfileScope timed(Phase::kAround, "data");
  if (made_ != step) return batches(step);
  made_ = -1;
  if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
  return std::move(ahead_);
}

void BatchesAhead::make(int64_t step) noexcept {
  ProfileScope timed(Phase::kAround, "data, beside a shard");
  made_ = step;
  error_ = nullptr;
  try {
    ahead_ = batches(step);
  } catch (...) {
    error_ = std::current_exception();
  }
}

}  // namespace lookback
