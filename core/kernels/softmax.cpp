#include "core/kernels/softmax.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/kernels/vector.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "core/kernels/softmax.cpp"
#include <hwy/foreach_target.h>
// The order matters: the lines above include this file again for each target.
#include "core/kernels/math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace lookback {
namespace HWY_NAMESPACE {

Real Largest(const Real* x, int64_t count) {
  const hn::ScalableTag<Real> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d)), whole = count / lanes * lanes;
  auto top = hn::Set(d, -std::numeric_limits<Real>::infinity());
  for (int64_t i = 0; i < whole; i += lanes) top = hn::Max(top, hn::LoadU(d, x + i));
  Real largest = hn::GetLane(hn::MaxOfLanes(d, top));
  for (int64_t i = whole; i < count; ++i) largest = std::max(largest, x[i]);
  return largest;
}

/// y = e^(argument of x), a vector at a time, and their sum.
template <class Argument>
HWY_INLINE Real ExpSumOf(const Real* x, Real* y, int64_t count, Argument&& argument) {
  const hn::ScalableTag<Real> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  auto sums = hn::Zero(d);
  int64_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    auto term = VecExpFalling(d, argument(hn::LoadU(d, x + i)));
    hn::StoreU(term, d, y + i);
    sums = hn::Add(sums, term);
  }
  if (i < count) {
    // Rows are short: one exponential of a part of a vector, not one for each element that is left.
    auto rest = hn::FirstN(d, static_cast<size_t>(count - i));
    auto term = VecExpFalling(d, argument(hn::MaskedLoad(rest, d, x + i)));
    hn::BlendedStore(term, rest, d, y + i);
    sums = hn::Add(sums, hn::IfThenElseZero(rest, term));
  }
  return hn::GetLane(hn::SumOfLanes(d, sums));
}

Real ExpSum(const Real* x, Real scale, Real shift, Real* y, int64_t count) {
  const hn::ScalableTag<Real> d;
  auto factor = hn::Set(d, scale), minus = hn::Set(d, shift);
  return ExpSumOf(x, y, count, [=](auto v) HWY_ATTR { return hn::MulSub(v, factor, minus); });
}

/// e^(scale (x - top)): where top is the largest no rounding takes it above 1, however large the scores are.
Real ExpSumBelow(const Real* x, Real scale, Real top, Real* y, int64_t count) {
  const hn::ScalableTag<Real> d;
  auto factor = hn::Set(d, scale), largest = hn::Set(d, top);
  return ExpSumOf(x, y, count,
                  [=](auto v) HWY_ATTR { return hn::Mul(hn::Sub(v, largest), factor); });
}

void SoftmaxGradient(const Real* y, Real inner, Real scale, Real* g, int64_t count) {
  ForLanes(count, [&](auto d, int64_t i) HWY_ATTR {
    auto weight = hn::Mul(hn::Set(d, scale), hn::LoadU(d, y + i));
    hn::StoreU(hn::Mul(weight, hn::Sub(hn::LoadU(d, g + i), hn::Set(d, inner))), d, g + i);
  });
}

/// The largest of x, and the sum of e^(x - largest); y, where given, gets the terms.
struct Terms {
  Real largest, sum;
};

HWY_INLINE Terms ExpTerms(const Real* x, Real* y, int64_t count) {
  const hn::ScalableTag<Real> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d)), whole = count / lanes * lanes;
  Real largest = Largest(x, count);
  auto shift = hn::Set(d, largest), sums = hn::Zero(d);
  for (int64_t i = 0; i < whole; i += lanes) {
    auto term = VecExpFalling(d, hn::Sub(hn::LoadU(d, x + i), shift));
    if (y) hn::StoreU(term, d, y + i);
    sums = hn::Add(sums, term);
  }
  Real sum = hn::GetLane(hn::SumOfLanes(d, sums));
  const hn::CappedTag<Real, 1> one;
  for (int64_t i = whole; i < count; ++i) {
    Real term = hn::GetLane(VecExpFalling(one, hn::Set(one, x[i] - largest)));
    if (y) y[i] = term;
    sum += term;
  }
  return {largest, sum};
}

void SoftmaxRow(const Real* x, Real* y, int64_t count) {
  Terms terms = ExpTerms(x, y, count);
  Real scale = 1 / terms.sum;
  for (int64_t i = 0; i < count; ++i) y[i] *= scale;
}

Real LogSumExpRow(const Real* x, int64_t count) {
  Terms terms = ExpTerms(x, nullptr, count);
  return terms.largest + std::log(terms.sum);
}

void ScaledExpRow(const Real* x, Real shift, Real scale, Real* y, int64_t count) {
  ForLanes(count, [&](auto d, int64_t i) HWY_ATTR {
    auto term = VecExpFalling(d, hn::Sub(hn::LoadU(d, x + i), hn::Set(d, shift)));
    hn::StoreU(hn::Mul(term, hn::Set(d, scale)), d, y + i);
  });
}

}  // namespace HWY_NAMESPACE
}  // namespace lookback
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace lookback {
HWY_EXPORT(SoftmaxRow);
HWY_EXPORT(LogSumExpRow);
HWY_EXPORT(ScaledExpRow);
HWY_EXPORT(Largest);
HWY_EXPORT(ExpSum);
HWY_EXPORT(ExpSumBelow);
HWY_EXPORT(SoftmaxGradient);

namespace kernels {

void softmax(const Real* x, const uint8_t* allowed, Real* y, int64_t count) {
  if (!allowed) {
    HWY_DYNAMIC_DISPATCH(SoftmaxRow)(x, y, count);
    return;
  }
  // Padding stands at the end: what is allowed is mostly one run from the start, which needs no
  // copying.
  int64_t run = 0;
  while (run < count && allowed[run]) ++run;
  if (std::none_of(allowed + run, allowed + count, [](uint8_t flag) { return flag != 0; })) {
    std::fill(y + run, y + count, Real{0});
    if (run > 0) HWY_DYNAMIC_DISPATCH(SoftmaxRow)(x, y, run);
    return;
  }
  Real largest = -std::numeric_limits<Real>::infinity(), sum = 0;
  for (int64_t i = 0; i < count; ++i)
    if (allowed[i]) largest = std::max(largest, x[i]);
  for (int64_t i = 0; i < count; ++i) {
    y[i] = allowed[i] ? std::exp(x[i] - largest) : Real{0};
    sum += y[i];
  }
  for (int64_t i = 0; i < count; ++i)
    if (allowed[i]) y[i] /= sum;  // a sum that is no number stays out of the holes
}

Real log_sum_exp(const Real* x, int64_t count) {
  return HWY_DYNAMIC_DISPATCH(LogSumExpRow)(x, count);
}

void scaled_exp(const Real* x, Real shift, Real scale, Real* y, int64_t count) {
  HWY_DYNAMIC_DISPATCH(ScaledExpRow)(x, shift, scale, y, count);
}

void softmax_gradient(const Real* y, Real inner, Real scale, Real* d, int64_t count) {
  HWY_DYNAMIC_DISPATCH(SoftmaxGradient)(y, inner, scale, d, count);
}

Real largest(const Real* x, int64_t count) {
  return HWY_DYNAMIC_DISPATCH(Largest)(x, count);
}

Real exp_sum(const Real* x, Real scale, Real shift, Real* y, int64_t count) {
  return HWY_DYNAMIC_DISPATCH(ExpSum)(x, scale, shift, y, count);
}

void scaled_softmax(Real scale, Real* x, int64_t count) {
  Real sum = HWY_DYNAMIC_DISPATCH(ExpSumBelow)(x, scale, largest(x, count), x, count);
  multiply(1 / sum, x, count);
}

}  // namespace kernels
}  // namespace lookback
#endif
