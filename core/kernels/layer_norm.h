#pragma once

#include <cstdint>

#include "core/real.h"

namespace lookback::kernels {

/// One row of layer normalisation, weight and bias may be null:
///     n = (x - mean) / sqrt(variance + eps)   y = n weight + bias
struct RowMoments {
  Real mean, inverse_deviation;
};
RowMoments layer_norm(const Real* x, const Real* weight, const Real* bias, Real eps, Real* y,
                      int64_t count);

/// Its backward, with u = dy weight:
///     dx = inverse_deviation (u - mean(u) - n mean(u n))
///     dweight += dy n   dbias += dy
/// dweight and dbias may be null.
void layer_norm_backward(const Real* x, const Real* dy, const Real* weight, RowMoments moments,
                         Real* dx, Real* dweight, Real* dbias, int64_t count);

}  // namespace lookback::kernels
