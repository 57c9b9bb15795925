#pragma once

#include <cstdint>

#include "core/real.h"

namespace lookback::kernels {

/// to[j, i] += from[i, j] for i < rows, j < columns, rows `from_stride` and `to_stride` elements apart.
void add_transposed(const Real* from, int64_t from_stride, int64_t rows, int64_t columns, Real* to,
                    int64_t to_stride);

}  // namespace lookback::kernels
