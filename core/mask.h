#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "core/ids.h"

namespace lookback {

/// Which positions count. One polarity everywhere: **true means "may be attended to"**.
/// The mask of a batch is (B, S); copying shares it.
class Mask {
 public:
  Mask() = default;
  Mask(int64_t rows, int64_t columns, std::vector<uint8_t> allowed);
  /// Row b allows positions 0 .. lengths[b] - 1 of `columns`.
  static Mask from_lengths(const Lengths& lengths, int64_t columns);

  bool defined() const { return allowed_ != nullptr; }
  int64_t rows() const { return rows_; }
  int64_t columns() const { return columns_; }
  bool at(int64_t row, int64_t column) const { return (*allowed_)[row * columns_ + column] != 0; }
  const uint8_t* row(int64_t row) const { return allowed_->data() + row * columns_; }

 private:
  int64_t rows_ = 0, columns_ = 0;
  std::shared_ptr<const std::vector<uint8_t>> allowed_;
};

}  // namespace lookback
