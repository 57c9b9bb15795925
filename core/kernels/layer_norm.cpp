#include "core/kernels/layer_norm.h"

#include <cmath>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "core/kernels/layer_norm.cpp"
#include <hwy/foreach_target.h>
// The order matters: the lines above include this file again for each target.
#include "core/kernels/math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace lookback {
namespace HWY_NAMESPACE {

kernels::RowMoments LayerNorm(const Real* x, const Real* weight, const Real* bias, Real eps,
                              Real* y, int64_t count) {
  Real n = static_cast<Real>(count);
  Real mean = SumLanes(count, [&](auto d, int64_t i, auto sum)
                                  HWY_ATTR { return hn::Add(sum, hn::LoadU(d, x + i)); }) /
              n;
  // In a second pass: the difference of two large sums would lose the digits.
  Real variance = SumLanes(count,
                           [&](auto d, int64_t i, auto sum) HWY_ATTR {
                             auto off = hn::Sub(hn::LoadU(d, x + i), hn::Set(d, mean));
                             return hn::MulAdd(off, off, sum);
                           }) /
                  n;
  Real inverse = 1 / std::sqrt(variance + eps);
  ForLanes(count, [&](auto d, int64_t i) HWY_ATTR {
    auto value = hn::Mul(hn::Sub(hn::LoadU(d, x + i), hn::Set(d, mean)), hn::Set(d, inverse));
    if (weight) value = hn::Mul(value, hn::LoadU(d, weight + i));
    if (bias) value = hn::Add(value, hn::LoadU(d, bias + i));
    hn::StoreU(value, d, y + i);
  });
  return {mean, inverse};
}

void LayerNormBackward(const Real* x, const Real* dy, const Real* weight,
                       kernels::RowMoments moments, Real* dx, Real* dweight, Real* dbias,
                       int64_t count) {
  auto normal = [&](auto d, int64_t i) HWY_ATTR {
    return hn::Mul(hn::Sub(hn::LoadU(d, x + i), hn::Set(d, moments.mean)),
                   hn::Set(d, moments.inverse_deviation));
  };
  auto u = [&](auto d, int64_t i) HWY_ATTR {
    auto g = hn::LoadU(d, dy + i);
    return weight ? hn::Mul(g, hn::LoadU(d, weight + i)) : g;
  };
  Real n = static_cast<Real>(count);
  Real mean =
      SumLanes(count, [&](auto d, int64_t i, auto sum) HWY_ATTR { return hn::Add(sum, u(d, i)); }) /
      n;
  Real along = SumLanes(count, [&](auto d, int64_t i, auto sum)
                                   HWY_ATTR { return hn::MulAdd(u(d, i), normal(d, i), sum); }) /
               n;
  ForLanes(count, [&](auto d, int64_t i) HWY_ATTR {
    auto rest = hn::NegMulAdd(normal(d, i), hn::Set(d, along), hn::Sub(u(d, i), hn::Set(d, mean)));
    if (dweight)
      hn::StoreU(hn::MulAdd(hn::LoadU(d, dy + i), normal(d, i), hn::LoadU(d, dweight + i)), d,
                 dweight + i);
    if (dbias) hn::StoreU(hn::Add(hn::LoadU(d, dy + i), hn::LoadU(d, dbias + i)), d, dbias + i);
    hn::StoreU(hn::Mul(rest, hn::Set(d, moments.inverse_deviation)), d, dx + i);
  });
}

}  // namespace HWY_NAMESPACE
}  // namespace lookback
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace lookback {
HWY_EXPORT(LayerNorm);
HWY_EXPORT(LayerNormBackward);

namespace kernels {

RowMoments layer_norm(const Real* x, const Real* weight, const Real* bias, Real eps, Real* y,
                      int64_t count) {
  return HWY_DYNAMIC_DISPATCH(LayerNorm)(x, weight, bias, eps, y, count);
}

void layer_norm_backward(const Real* x, const Real* dy, const Real* weight, RowMoments moments,
                         Real* dx, Real* dweight, Real* dbias, int64_t count) {
  HWY_DYNAMIC_DISPATCH(LayerNormBackward)(x, dy, weight, moments, dx, dweight, dbias, count);
}

}  // namespace kernels
}  // namespace lookback
#endif
