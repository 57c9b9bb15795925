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

/// Runs body(tag, i) over [0, count): whole vectors first, single lanes at the end, by the same
/// arithmetic.
template <class Body>
HWY_INLINE void ForLanes(int64_t count, Body&& body) {
  const hn::ScalableTag<Real> whole;
  const hn::CappedTag<Real, 1> one;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(whole));
  int64_t i = 0;
  for (; i + lanes <= count; i += lanes) body(whole, i);
  for (; i < count; ++i) body(one, i);
}

/// sum_i f(i), the lanes of a vector side by side and the rest after them: an order that `count` and the
/// width of the processor's vectors decide, and nothing else. Four sums take turns, so that no addition waits
/// for the one before.
template <class F>
HWY_INLINE Real SumLanes(int64_t count, F&& f) {
  const hn::ScalableTag<Real> d;
  const hn::CappedTag<Real, 1> one;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  auto s0 = hn::Zero(d), s1 = s0, s2 = s0, s3 = s0;
  int64_t i = 0;
  for (; i + 4 * lanes <= count; i += 4 * lanes) {
    s0 = f(d, i, s0);
    s1 = f(d, i + lanes, s1);
    s2 = f(d, i + 2 * lanes, s2);
    s3 = f(d, i + 3 * lanes, s3);
  }
  for (; i + lanes <= count; i += lanes) s0 = f(d, i, s0);
  Real sum = hn::GetLane(hn::SumOfLanes(d, hn::Add(hn::Add(s0, s1), hn::Add(s2, s3))));
  for (; i < count; ++i) sum += hn::GetLane(f(one, i, hn::Zero(one)));
  return sum;
}

/// e^r - 1 for floats, r = x - k ln 2 and |r| <= ln 2 / 2: r + r^2 P(r); fit_rational.py finds the
/// coefficients. P's terms are added in pairs, which wait less for each other than in Horner's order.
template <class D, class V>
HWY_INLINE V VecExpRest(D d, V x, V k) {
  auto c = [&](float value) HWY_ATTR { return hn::Set(d, value); };
  V r = hn::NegMulAdd(k, c(0.6931471825f), x);
  r = hn::NegMulAdd(k, c(-1.904654323e-09f), r);
  const V square = hn::Mul(r, r);
  const V low = hn::MulAdd(r, c(1.666652063e-01f), c(4.999999345e-01f));
  V p = hn::MulAdd(r, c(8.368716913e-03f), c(4.166838805e-02f));
  p = hn::MulAdd(square, c(1.381459824e-03f), p);
  return hn::MulAdd(square, hn::MulAdd(square, p, low), r);
}

/// e^x; what is past the largest number is infinity, and NaN stays NaN. For floats 2^k e^r, k
/// whole and r as above: within 1e-7 of the exact value, relatively, and in two thirds of the time of Highway's.
template <class D, class V>
HWY_INLINE V VecExp(D d, V x) {
  if constexpr (sizeof(Real) == 8) {
    // Highway's is made for x up to 706: past it it may give anything, and it makes 0 of NaN.
    return hn::IfThenElse(hn::IsNaN(x), x, hn::Exp(d, hn::Min(x, hn::Set(d, Real{720}))));
  } else {
    auto c = [&](float value) HWY_ATTR { return hn::Set(d, value); };
    x = hn::Max(c(-105.0f), hn::Min(c(100.0f), x));  // past these e^x is 0 and infinity
    const V k = hn::Round(hn::Mul(x, c(1.442695041f)));
    const V y = hn::Add(VecExpRest(d, x, k), c(1.0f));
    // 2^k in two factors: alone it may be past the largest number, or below the smallest, where e^x is not.
    const hn::RebindToSigned<D> whole;
    auto all = hn::ConvertTo(whole, k), half = hn::ShiftRight<1>(all);
    auto power = [&](auto n) HWY_ATTR {
      return hn::BitCast(d, hn::ShiftLeft<23>(hn::Add(n, hn::Set(whole, 127))));
    };
    return hn::Mul(hn::Mul(y, power(half)), power(hn::Sub(all, half)));
  }
}

/// e^x for x that is not above 0 but by rounding, as in a softmax, in some half of VecExp's time. Below -87 it is 0
/// (the smallest normal number is e^-87.3), from 88.4 on infinity or NaN, and NaN stays NaN.
template <class D, class V>
HWY_INLINE V VecExpFalling(D d, V x) {
  if constexpr (sizeof(Real) == 8) {
    return VecExp(d, x);
  } else {
    auto c = [&](float value) HWY_ATTR { return hn::Set(d, value); };
    // Added to 1.5 x 2^23 a number is rounded to a whole one, and stands in the lowest bits of the sum: there
    // k + 127 is the exponent of 2^k.
    const V far = c(12582912.0f + 127);
    const V sum = hn::MulAdd(hn::Min(c(89.0f), x), c(1.442695041f), far);
    const V rest = VecExpRest(d, x, hn::Sub(sum, far));
    const hn::RebindToSigned<D> whole;
    const V power = hn::BitCast(d, hn::ShiftLeft<23>(hn::BitCast(whole, sum)));
    return hn::IfThenZeroElse(hn::Lt(x, c(-87.0f)), hn::MulAdd(rest, power, power));
  }
}

/// 1 / (1 + e^-x)
template <class D, class V>
HWY_INLINE V VecSigmoid(D d, V x) {
  const V one = hn::Set(d, Real{1});
  return hn::Div(one, hn::Add(one, VecExp(d, hn::Neg(x))));
}

/// tanh x. For floats x P(x^2) / Q(x^2), within 3.2e-7 of the exact value, relatively, and about
/// three times as fast as Highway's; fit_rational.py finds the coefficients. NaN stays NaN (Min and Max
/// give the second operand then).
template <class D, class V>
HWY_INLINE V VecTanh(D d, V x) {
  if constexpr (sizeof(Real) == 8) {
    return hn::Tanh(d, x);
  } else {
    auto c = [&](float value) HWY_ATTR { return hn::Set(d, value); };
    x = hn::Max(c(-9.0f), hn::Min(c(9.0f), x));
    const V u = hn::Mul(x, x);
    V p = hn::MulAdd(c(1.335463977e-08f), u, c(2.060906509e-05f));
    V q = hn::MulAdd(c(7.776548943e-07f), u, c(3.285633050e-04f));
    p = hn::MulAdd(p, u, c(3.495587024e-03f));
    q = hn::MulAdd(q, u, c(2.587697796e-02f));
    p = hn::MulAdd(p, u, c(1.338102470e-01f));
    q = hn::MulAdd(q, u, c(4.671434030e-01f));
    p = hn::MulAdd(p, u, c(9.999999795e-01f));
    q = hn::MulAdd(q, u, c(1.0f));
    const V y = hn::Div(hn::Mul(x, p), q);
    return hn::Max(c(-1.0f), hn::Min(c(1.0f), y));  // rounding may step past 1 by one place
  }
}

/// erf x for floats, fitted like tanh: within 2.8e-7 of the exact value, relatively.
template <class D, class V>
HWY_INLINE V VecErf(D d, V x) {
  auto c = [&](float value) HWY_ATTR { return hn::Set(d, static_cast<Real>(value)); };
  x = hn::Max(c(-4.0f), hn::Min(c(4.0f), x));
  const V u = hn::Mul(x, x);
  V p = hn::MulAdd(c(1.986802410e-06f), u, c(2.845654544e-04f));
  V q = hn::MulAdd(c(3.742036385e-05f), u, c(1.185559170e-03f));
  p = hn::MulAdd(p, u, c(3.883287476e-03f));
  q = hn::MulAdd(q, u, c(1.520713433e-02f));
  p = hn::MulAdd(p, u, c(5.310156606e-02f));
  q = hn::MulAdd(q, u, c(1.153494160e-01f));
  p = hn::MulAdd(p, u, c(1.935436255e-01f));
  q = hn::MulAdd(q, u, c(5.048561279e-01f));
  p = hn::MulAdd(p, u, c(1.128379139e+00f));
  q = hn::MulAdd(q, u, c(1.0f));
  const V y = hn::Div(hn::Mul(x, p), q);
  return hn::Max(c(-1.0f), hn::Min(c(1.0f), y));
}

}  // namespace HWY_NAMESPACE
}  // namespace lookback
HWY_AFTER_NAMESPACE();

#endif
