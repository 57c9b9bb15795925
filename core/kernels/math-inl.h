// Included once for each processor target; see hwy/foreach_target.h.
#if defined(LOOKBACK_KERNELS_MATH_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef LOOKBACK_KERNELS_MATH_INL_H_
#undef LOOKBACK_KERNELS_MATH_INL_H_
#else
#define LOOKBACK_KERNELS_MATH_INL_H_
#endif

#include <hwy/contrib/math/math-inl.h>
#include <hwy/highway.h>

#include "core/real.h"

HWY_BEFORE_NAMESPACE();
namespace lookback {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// Runs body(tag, i) over [0, count): whole vectors first, single lanes at the end, by the same arithmetic.
template <class Body>
HWY_INLINE void ForLanes(int64_t count, Body&& body) {
  const hn::ScalableTag<Real> whole;
  const hn::CappedTag<Real, 1> one;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(whole));
  int64_t i = 0;
  for (; i + lanes <= count; i += lanes) body(whole, i);
  for (; i < count; ++i) body(one, i);
}

template <class D, class V>
HWY_INLINE V VecExp(D d, V x) {
  return hn::Exp(d, x);
}

/// 1 / (1 + e^-x)
template <class D, class V>
HWY_INLINE V VecSigmoid(D d, V x) {
  const V one = hn::Set(d, Real{1});
  return hn::Div(one, hn::Add(one, hn::Exp(d, hn::Neg(x))));
}

template <class D, class V>
HWY_INLINE V VecTanh(D d, V x) {
  return hn::Tanh(d, x);
}

}  // namespace HWY_NAMESPACE
}  // namespace lookback
HWY_AFTER_NAMESPACE();

#endif
