#include "core/kernels/vector.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "core/kernels/vector.cpp"
#include <hwy/foreach_target.h>
// The order matters: the lines above include this file again for each target.
#include "core/kernels/math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace lookback {
namespace HWY_NAMESPACE {

void AddScaled(Real weight, const Real* row, Real* sum, int64_t count) {
  ForLanes(count, [&](auto d, int64_t i) HWY_ATTR {
    hn::StoreU(hn::MulAdd(hn::Set(d, weight), hn::LoadU(d, row + i), hn::LoadU(d, sum + i)), d,
               sum + i);
  });
}

Real Dot(const Real* a, const Real* b, int64_t count) {
  return SumLanes(count, [&](auto d, int64_t i, auto sum) HWY_ATTR {
    return hn::MulAdd(hn::LoadU(d, a + i), hn::LoadU(d, b + i), sum);
  });
}

void Multiply(Real factor, Real* row, int64_t count) {
  ForLanes(count, [&](auto d, int64_t i) HWY_ATTR {
    hn::StoreU(hn::Mul(hn::Set(d, factor), hn::LoadU(d, row + i)), d, row + i);
  });
}

Real DotWithZero(const Real* x, int64_t count) {
  return SumLanes(count, [&](auto d, int64_t i, auto sum) HWY_ATTR {
    return hn::MulAdd(hn::LoadU(d, x + i), hn::Zero(d), sum);
  });
}

}  // namespace HWY_NAMESPACE
}  // namespace lookback
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace lookback {
HWY_EXPORT(AddScaled);
HWY_EXPORT(Dot);
HWY_EXPORT(Multiply);
HWY_EXPORT(DotWithZero);

namespace kernels {

void add_scaled(Real weight, const Real* row, Real* sum, int64_t count) {
  HWY_DYNAMIC_DISPATCH(AddScaled)(weight, row, sum, count);
}
Real dot(const Real* a, const Real* b, int64_t count) {
  return HWY_DYNAMIC_DISPATCH(Dot)(a, b, count);
}

void multiply(Real factor, Real* row, int64_t count) {
  HWY_DYNAMIC_DISPATCH(Multiply)(factor, row, count);
}

Real dot_with_zero(const Real* x, int64_t count) {
  return HWY_DYNAMIC_DISPATCH(DotWithZero)(x, count);
}

}  // namespace kernels
}  // namespace lookback
#endif
