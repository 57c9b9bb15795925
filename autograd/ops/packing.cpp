#include "autograd/ops/packing.h"

#include <algorithm>
#include <numeric>

namespace lookback {

Packing::Packing(const Lengths& lengths, bool reverse) : reverse_(reverse) {
  order_.resize(lengths.size());
  std::iota(order_.begin(), order_.end(), 0);
  std::stable_sort(order_.begin(), order_.end(),
                   [&](int64_t a, int64_t b) { return lengths[a] > lengths[b]; });
  for (int64_t sentence : order_) lengths_.push_back(lengths[sentence]);
  int64_t longest = lengths_.empty() ? 0 : lengths_[0], still = batch();
  for (int64_t t = 0; t < longest; ++t) {
    while (still > 0 && lengths_[still - 1] <= t) --still;
    running_.push_back(still);
    offset_.push_back(rows_);
    rows_ += still;
  }
}

Tensor Packing::pack(const Tensor& padded) const {
  int64_t positions = padded.size(1), width = padded.size(2);
  Tensor out({rows_, width});
  for (int64_t t = 0; t < steps(); ++t)
    for (int64_t i = 0; i < running_[t]; ++i)
      std::copy_n(padded.data() + (order_[i] * positions + position(i, t)) * width, width,
                  out.data() + (offset_[t] + i) * width);
  return out;
}

Tensor Packing::unpack(const Real* packed, int64_t width, int64_t positions) const {
  Tensor out({batch(), positions, width});
  for (int64_t i = 0; i < batch(); ++i) {
    Real* row = out.data() + order_[i] * positions * width;
    for (int64_t t = 0; t < lengths_[i]; ++t)
      std::copy_n(packed + (offset_[t] + i) * width, width, row + position(i, t) * width);
    std::fill(row + lengths_[i] * width, row + positions * width, Real{0});
  }
  return out;
}

Tensor Packing::sort(const Tensor& by_sentence) const {
  int64_t width = by_sentence.size(1);
  Tensor out(by_sentence.shape());
  for (int64_t i = 0; i < batch(); ++i)
    std::copy_n(by_sentence.data() + order_[i] * width, width, out.data() + i * width);
  return out;
}

Tensor Packing::unsort(const Tensor& by_place) const {
  int64_t width = by_place.size(1);
  Tensor out(by_place.shape());
  for (int64_t i = 0; i < batch(); ++i)
    std::copy_n(by_place.data() + i * width, width, out.data() + order_[i] * width);
  return out;
}

}  // namespace lookback
