#pragma once

#include <memory>
#include <vector>

#include "core/ids.h"
#include "core/tensor.h"

namespace lookback {

/// Sentences of different lengths, packed by step: sorted by falling length, so that the ones that
/// still run at step t are always the first `running[t]`. The packed rows of step t stand at
/// [offset[t], offset[t] + running[t]). In reverse, step t of a sentence is its position length - 1
/// - t, so each sentence begins at its own last token. (The layout of PyTorch's PackedSequence.)
class Packing {
 public:
  Packing(const Lengths& lengths, bool reverse);

  int64_t batch() const { return static_cast<int64_t>(order_.size()); }
  int64_t steps() const { return static_cast<int64_t>(running_.size()); }
  int64_t rows() const { return rows_; }
  int64_t running(int64_t step) const { return step < steps() ? running_[step] : 0; }
  int64_t offset(int64_t step) const { return offset_[step]; }
  /// Which sentence of the batch stands at place i.
  int64_t sentence(int64_t i) const { return order_[i]; }
  /// Its length.
  int64_t length(int64_t i) const { return lengths_[i]; }
  int64_t position(int64_t i, int64_t step) const {
    return reverse_ ? lengths_[i] - 1 - step : step;
  }

  /// (B, S, N) -> (P, N): the rows of all real positions.
  Tensor pack(const Tensor& padded) const;
  /// (P, N) -> (B, S, N), zero at padding.
  Tensor unpack(const Real* packed, int64_t width, int64_t positions) const;
  /// (B, N) by sentence -> (B, N) by place, and back.
  Tensor sort(const Tensor& by_sentence) const;
  Tensor unsort(const Tensor& by_place) const;

 private:
  std::vector<int64_t> order_, lengths_, running_, offset_;
  int64_t rows_ = 0;
  bool reverse_;
};

}  // namespace lookback
