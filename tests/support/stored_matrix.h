#pragma once

#include "core/gemm.h"
#include "support/random_tensor.h"

namespace lookback::testing {

/// A random matrix of (rows, columns) as a product reads it, stored straight or transposed, rows `gap`
/// elements longer than they need be.
struct StoredMatrix {
  Tensor buffer;
  MatrixView view;

  StoredMatrix(int64_t rows, int64_t columns, bool transposed_storage, int64_t gap, uint64_t seed) {
    int64_t r = transposed_storage ? columns : rows, c = transposed_storage ? rows : columns;
    buffer = random_tensor({r, c + gap}, seed);
    view = {.data = buffer.data(),
            .rows = r,
            .columns = c,
            .stride = c + gap,
            .transposed = transposed_storage};
  }
  double at(int64_t row, int64_t column) const {
    return view.transposed ? view.data[column * view.stride + row]
                           : view.data[row * view.stride + column];
  }
};

}  // namespace lookback::testing
