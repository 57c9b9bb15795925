#pragma once

#include "core/random.h"
#include "core/tensor.h"

namespace lookback::testing {

/// Uniform in [low, high), the same for the same seed and shape.
inline Tensor random_tensor(const Shape& shape, uint64_t seed, double low = -1, double high = 1) {
  Tensor out(shape);
  Random random({.seed = seed, .purpose = purpose("test")});
  for (Real& value : out.values()) value = static_cast<Real>(random.uniform(low, high));
  return out;
}

}  // namespace lookback::testing
