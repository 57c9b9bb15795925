#pragma once

#include <cstdint>

#include "core/real.h"

namespace lookback::kernels {

/// The numbers of one step of Adam (Kingma and Ba, 2015, section 2) that are the same for all weights.
struct AdamStep {
  Real beta1, beta2;  ///< the moments' decay
  Real keep1, keep2;  ///< 1 - beta1, 1 - beta2
  Real rate;          ///< alpha / (1 - beta1^t)
  Real unbias;        ///< 1 / sqrt(1 - beta2^t)
  Real eps;
  Real scale;   ///< of the gradient, by clipping
  Real added;   ///< weight decay that is added to the gradient
  Real shrink;  ///< factor of the weight: 1, or less by decoupled weight decay
};

/// g' = scale g + added w;  m = beta1 m + keep1 g';  v = beta2 v + keep2 g'^2;
/// w = shrink w - rate m / (sqrt(v) unbias + eps), for `count` weights on the calling thread.
void adam(const AdamStep& step, const Real* g, Real* w, Real* m, Real* v, int64_t count);

}  // namespace lookback::kernels
