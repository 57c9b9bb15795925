#pragma once

#include <cstdint>

#include "core/real.h"

namespace lookback::kernels {

/// y[i] = f(x[i]) for i < count, on the calling thread; x and y may be the same.
void exp(const Real* x, Real* y, int64_t count);
void tanh(const Real* x, Real* y, int64_t count);
void sigmoid(const Real* x, Real* y, int64_t count);

}  // namespace lookback::kernels
