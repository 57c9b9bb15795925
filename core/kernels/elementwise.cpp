#include "core/kernels/elementwise.h"

#include <cmath>

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

void ReluAll(const Real* x, Real* y, int64_t count) {
  ForLanes(count, [&](auto d, int64_t i) HWY_ATTR {
    auto v = hn::LoadU(d, x + i);
    hn::StoreU(hn::IfThenElse(hn::Lt(v, hn::Zero(d)), hn::Zero(d), v), d, y + i);
  });
}

void ReluBackwardAll(const Real* y, const Real* g, Real* dx, int64_t count) {
  ForLanes(count, [&](auto d, int64_t i) HWY_ATTR {
    auto open = hn::Gt(hn::LoadU(d, y + i), hn::Zero(d));
    hn::StoreU(hn::IfThenElseZero(open, hn::LoadU(d, g + i)), d, dx + i);
  });
}

constexpr Real kSqrtHalf = Real(0.70710678118654752440);
constexpr Real kInverseSqrtTwoPi = Real(0.39894228040143267794);

/// (1 + erf(x / sqrt 2)) / 2, the normal distribution's share below x.
template <class D, class V>
HWY_INLINE V ShareBelow(D d, V x) {
  auto half = hn::Set(d, Real(0.5));
  return hn::MulAdd(half, VecErf(d, hn::Mul(x, hn::Set(d, kSqrtHalf))), half);
}

void GeluAll(const Real* x, Real* y, int64_t count) {
  if constexpr (sizeof(Real) == 8) {
    for (int64_t i = 0; i < count; ++i) y[i] = x[i] * (1 + std::erf(x[i] * kSqrtHalf)) / 2;
  } else {
    ForLanes(count, [&](auto d, int64_t i) HWY_ATTR {
      auto v = hn::LoadU(d, x + i);
      hn::StoreU(hn::Mul(v, ShareBelow(d, v)), d, y + i);
    });
  }
}

void GeluBackwardAll(const Real* x, const Real* g, Real* dx, int64_t count) {
  if constexpr (sizeof(Real) == 8) {
    for (int64_t i = 0; i < count; ++i)
      dx[i] = g[i] * ((1 + std::erf(x[i] * kSqrtHalf)) / 2 +
                      x[i] * kInverseSqrtTwoPi * std::exp(-x[i] * x[i] / 2));
  } else {
    ForLanes(count, [&](auto d, int64_t i) HWY_ATTR {
      auto v = hn::LoadU(d, x + i);
      auto density = VecExp(d, hn::Mul(hn::Mul(v, v), hn::Set(d, Real(-0.5))));
      auto slope = hn::MulAdd(hn::Mul(v, hn::Set(d, kInverseSqrtTwoPi)), density, ShareBelow(d, v));
      hn::StoreU(hn::Mul(hn::LoadU(d, g + i), slope), d, dx + i);
    });
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace lookback
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace lookback {
HWY_EXPORT(ExpAll);
HWY_EXPORT(TanhAll);
HWY_EXPORT(SigmoidAll);
HWY_EXPORT(ReluAll);
HWY_EXPORT(ReluBackwardAll);
HWY_EXPORT(GeluAll);
HWY_EXPORT(GeluBackwardAll);

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

void relu(const Real* x, Real* y, int64_t count) {
  HWY_DYNAMIC_DISPATCH(ReluAll)(x, y, count);
}

void relu_backward(const Real* y, const Real* g, Real* dx, int64_t count) {
  HWY_DYNAMIC_DISPATCH(ReluBackwardAll)(y, g, dx, count);
}

void gelu(const Real* x, Real* y, int64_t count) {
  HWY_DYNAMIC_DISPATCH(GeluAll)(x, y, count);
}

void gelu_backward(const Real* x, const Real* g, Real* dx, int64_t count) {
  HWY_DYNAMIC_DISPATCH(GeluBackwardAll)(x, g, dx, count);
}

}  // namespace kernels
}  // namespace lookback
#endif
