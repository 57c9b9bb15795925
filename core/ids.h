#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace lookback {

using Id = int32_t;

/// Token ids of a padded batch, (rows, columns) = (B, S) or (B, T), row-major.
struct IdMatrix {
  int64_t rows = 0;
  int64_t columns = 0;
  std::vector<Id> values;

  IdMatrix() = default;
  IdMatrix(int64_t rows, int64_t columns, Id fill)
      : rows(rows), columns(columns), values(static_cast<size_t>(rows * columns), fill) {}

  Id& at(int64_t row, int64_t column) {
    return values[static_cast<size_t>(row * columns + column)];
  }
  Id at(int64_t row, int64_t column) const {
    return values[static_cast<size_t>(row * columns + column)];
  }
};

/// The number of real tokens of each sentence of a batch, (B).
using Lengths = std::vector<int64_t>;

}  // namespace lookback
