#include "core/kernels/elementwise.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "core/kernels/elementwise.cpp"
#include <hwy/foreach_target.h>
// The order matters: the lines above include this file again for each target.
#include "core/kernels/math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace lookback {
namespace HWY_NAMESPACE {

void ExpAll(const Real* x, Real* y, int64_t count) {
  ForLanes(count, [&](auto d, int64_t i)
                      HWY_ATTR { hn::StoreU(VecExp(d, hn::LoadU(d, x + i)), d, y + i); });
}

void TanhAll(const Real* x, Real* y, int64_t count) {
  ForLanes(count, [&](auto d, int64_t i)
                      HWY_ATTR { hn::StoreU(VecTanh(d, hn::LoadU(d, x + i)), d, y + i); });
}

void SigmoidAll(const Real* x, Real* y, int64_t count) {
  ForLanes(count, [&](auto d, int64_t i)
                      HWY_ATTR { hn::StoreU(VecSigmoid(d, hn::LoadU(d, x + i)), d, y + i); });
}

}  // namespace HWY_NAMESPACE
}  // namespace lookback
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace lookback {
HWY_EXPORT(ExpAll);
HWY_EXPORT(TanhAll);
HWY_EXPORT(SigmoidAll);

namespace kernels {

void exp(const Real* x, Real* y, int64_t count) {
  HWY_DYNAMIC_DISPATCH(ExpAll)(x, y, count);
}

void tanh(const Real* x, Real* y, int64_t count) {
  HWY_DYNAMIC_DISPATCH(TanhAll)(x, y, count);
}

void sigmoid(const Real* x, Real* y, int64_t count) {
  HWY_DYNAMIC_DISPATCH(SigmoidAll)(x, y, count);
}

}  // namespace kernels
}  // namespace lookback
#endif
