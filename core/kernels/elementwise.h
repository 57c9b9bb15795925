#pragma once

#include <cstdint>

#include "core/real.h"

namespace lookback::kernels {

/// y[i] = f(x[i]) for i < count, on the calling thread; x and y may be the same.
void exp(const Real* x, Real* y, int64_t count);
void tanh(const Real* x, Real* y, int64_t count);
void sigmoid(const Real* x, Real* y, int64_t count);

/// max(x, 0), NaN staying NaN, and g where the result y is above 0, else 0.
void relu(const Real* x, Real* y, int64_t count);
void relu_backward(const Real* y, const Real* g, Real* dx, int64_t count);

/// gelu(x) = x/2 (1 + erf(x / sqrt 2)) (Hendrycks and Gimpel, 2016), and g times its slope,
///     (1 + erf(x / sqrt 2)) / 2 + x e^(-x^2/2) / sqrt(2 pi)
void gelu(const Real* x, Real* y, int64_t count);
void gelu_backward(const Real* x, const Real* g, Real* dx, int64_t count);

}  // namespace lookback::kernels
