#pragma once

#include <cstdint>

#include "core/real.h"

namespace lookback::kernels {

/// The inner product of two rows of `count` elements.
Real dot(const Real* a, const Real* b, int64_t count);

/// sum += weight * row
void add_scaled(Real weight, const Real* row, Real* sum, int64_t count);

/// row *= factor
void multiply(Real factor, Real* row, int64_t count);

/// sum_i 0 * x_i: 0 where all elements are finite, else NaN.
Real dot_with_zero(const Real* x, int64_t count);

}  // namespace lookback::kernels
