#include "core/kernels/adam.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "core/kernels/adam.cpp"
#include <hwy/foreach_target.h>
// The order matters: the lines above include this file again for each target.
#include "core/kernels/math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace lookback {
namespace HWY_NAMESPACE {

void Adam(const kernels::AdamStep& step, const Real* g, Real* w, Real* m, Real* v, int64_t count) {
  ForLanes(count, [&](auto d, int64_t i) HWY_ATTR {
    auto all = [&](Real value) HWY_ATTR { return hn::Set(d, value); };
    const auto weight = hn::LoadU(d, w + i);
    const auto gradient =
        hn::MulAdd(hn::LoadU(d, g + i), all(step.scale), hn::Mul(all(step.added), weight));
    const auto first =
        hn::MulAdd(all(step.beta1), hn::LoadU(d, m + i), hn::Mul(all(step.keep1), gradient));
    const auto second = hn::MulAdd(all(step.beta2), hn::LoadU(d, v + i),
                                   hn::Mul(all(step.keep2), hn::Mul(gradient, gradient)));
    const auto size = hn::MulAdd(hn::Sqrt(second), all(step.unbias), all(step.eps));
    const auto move = hn::Div(hn::Mul(all(step.rate), first), size);
    hn::StoreU(first, d, m + i);
    hn::StoreU(second, d, v + i);
    hn::StoreU(hn::MulSub(all(step.shrink), weight, move), d, w + i);
  });
}

}  // namespace HWY_NAMESPACE
}  // namespace lookback
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace lookback {
HWY_EXPORT(Adam);

namespace kernels {

void adam(const AdamStep& step, const Real* g, Real* w, Real* m, Real* v, int64_t count) {
  HWY_DYNAMIC_DISPATCH(Adam)(step, g, w, m, v, count);
}

}  // namespace kernels
}  // namespace lookback
#endif
