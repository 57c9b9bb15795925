#include "core/kernels/additive.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "core/kernels/additive.cpp"
#include <hwy/foreach_target.h>
// The order matters: the lines above include this file again for each target.
#include "core/kernels/math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace lookback {
namespace HWY_NAMESPACE {

/// Two of the scores' tanh at a time, from query and keys.
struct ByTanh {
  template <class D, class V>
  static HWY_INLINE void Two(D d, V query, V& x, V& y) {
    x = VecTanh(d, hn::Add(query, x));
    y = VecTanh(d, hn::Add(query, y));
  }
};

/// From e^(2q) and e^(2k): tanh = 1 - 2 / a, a = 1 + e^(2q) e^(2k). One division serves both:
/// 1 / a = b / (a b).
struct ByExponentials {
  // Past this, 1 / a is nothing beside 1; the product of two such is still a number.
  static constexpr Real kMost = sizeof(Real) == 8 ? Real(1e150) : Real(1e18);

  template <class D, class V>
  static HWY_INLINE void Two(D d, V query, V& x, V& y) {
    const V one = hn::Set(d, Real{1}), two = hn::Set(d, Real{2}), most = hn::Set(d, kMost);
    const V a = hn::Min(hn::MulAdd(query, x, one), most);
    const V b = hn::Min(hn::MulAdd(query, y, one), most);
    const V both = hn::Div(two, hn::Mul(a, b));
    x = hn::NegMulAdd(both, b, one);
    y = hn::NegMulAdd(both, a, one);
  }
};

/// Calls body(i, j) for the positions that `alive` names, two at a time; the last of an odd number comes
/// as (i, i).
template <class Alive, class Body>
HWY_INLINE void ByTwos(int64_t count, Alive&& alive, Body&& body) {
  int64_t first = -1;
  for (int64_t j = 0; j < count; ++j) {
    if (!alive(j)) continue;
    if (first < 0) {
      first = j;
    } else {
      body(first, j);
      first = -1;
    }
  }
  if (first >= 0) body(first, first);
}

template <class Form>
HWY_INLINE void ScoresOf(const Real* query, const Real* keys, const Real* v, const uint8_t* allowed,
                         int64_t length, int64_t units, Real* scores) {
  const hn::ScalableTag<Real> whole;
  const hn::CappedTag<Real, 1> one;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(whole)), full = units / lanes * lanes;
  auto alive = [&](int64_t j) { return !allowed || allowed[j]; };
  ByTwos(length, alive, [&](int64_t first, int64_t second) HWY_ATTR {
    const Real *key1 = keys + first * units, *key2 = keys + second * units;
    auto add = [&](auto d, int64_t i, auto& sum1, auto& sum2) HWY_ATTR {
      auto t1 = hn::LoadU(d, key1 + i), t2 = hn::LoadU(d, key2 + i);
      Form::Two(d, hn::LoadU(d, query + i), t1, t2);
      const auto weight = hn::LoadU(d, v + i);
      sum1 = hn::MulAdd(weight, t1, sum1);
      sum2 = hn::MulAdd(weight, t2, sum2);
    };
    auto sums1 = hn::Zero(whole), sums2 = hn::Zero(whole);
    for (int64_t i = 0; i < full; i += lanes) add(whole, i, sums1, sums2);
    auto sum1 = hn::Set(one, hn::GetLane(hn::SumOfLanes(whole, sums1)));
    auto sum2 = hn::Set(one, hn::GetLane(hn::SumOfLanes(whole, sums2)));
    for (int64_t i = full; i < units; ++i) add(one, i, sum1, sum2);
    scores[first] = hn::GetLane(sum1);
    scores[second] = hn::GetLane(sum2);
  });
}

template <class Form>
HWY_INLINE void BackwardOf(const kernels::AdditiveBackward& a) {
  auto alive = [&](int64_t j) { return a.d[j] != 0; };
  ByTwos(a.length, alive, [&](int64_t first, int64_t second) HWY_ATTR {
    const Real *key1 = a.keys + first * a.units, *key2 = a.keys + second * a.units;
    Real *dkey1 = a.dkeys + first * a.units, *dkey2 = a.dkeys + second * a.units;
    // A position that comes twice counts once.
    const Real d1 = a.d[first], d2 = first == second ? Real{0} : a.d[second];
    ForLanes(a.units, [&](auto d, int64_t i) HWY_ATTR {
      const auto one = hn::Set(d, Real{1}), weight = hn::LoadU(d, a.v + i);
      auto t1 = hn::LoadU(d, key1 + i), t2 = hn::LoadU(d, key2 + i);
      Form::Two(d, hn::LoadU(d, a.query + i), t1, t2);
      const auto of1 = hn::Set(d, d1), of2 = hn::Set(d, d2);
      const auto g1 = hn::Mul(hn::Mul(of1, weight), hn::NegMulAdd(t1, t1, one));
      const auto g2 = hn::Mul(hn::Mul(of2, weight), hn::NegMulAdd(t2, t2, one));
      hn::StoreU(hn::Add(hn::LoadU(d, dkey1 + i), g1), d, dkey1 + i);
      hn::StoreU(hn::Add(hn::LoadU(d, dkey2 + i), g2), d, dkey2 + i);
      hn::StoreU(hn::Add(hn::LoadU(d, a.dquery + i), hn::Add(g1, g2)), d, a.dquery + i);
      hn::StoreU(hn::MulAdd(of2, t2, hn::MulAdd(of1, t1, hn::LoadU(d, a.dv + i))), d, a.dv + i);
    });
  });
}

void AdditiveScores(const Real* query, const Real* keys, const Real* v, const uint8_t* allowed,
                    int64_t length, int64_t units, Real* scores) {
  ScoresOf<ByTanh>(query, keys, v, allowed, length, units, scores);
}
void AdditiveScoresBackward(const kernels::AdditiveBackward& a) {
  BackwardOf<ByTanh>(a);
}

void ScoresByExponentials(const Real* query, const Real* keys, const Real* v,
                          const uint8_t* allowed, int64_t length, int64_t units, Real* scores) {
  ScoresOf<ByExponentials>(query, keys, v, allowed, length, units, scores);
}
void ScoresByExponentialsBackward(const kernels::AdditiveBackward& a) {
  BackwardOf<ByExponentials>(a);
}

bool Exponentials(const Real* x, Real* y, int64_t count) {
  // e^80 and e^-80 are floats with all their digits; of a larger number they would not be, and one past
  // the other's range would take it along.
  constexpr Real kMost = 40;
  bool all = true;
  ForLanes(count, [&](auto d, int64_t i) HWY_ATTR {
    auto v = hn::LoadU(d, x + i);
    all = hn::AllTrue(d, hn::Le(hn::Abs(v), hn::Set(d, kMost))) && all;
    hn::StoreU(VecExp(d, hn::Add(v, v)), d, y + i);
  });
  return all;
}

}  // namespace HWY_NAMESPACE
}  // namespace lookback
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace lookback {
HWY_EXPORT(AdditiveScores);
HWY_EXPORT(AdditiveScoresBackward);
HWY_EXPORT(ScoresByExponentials);
HWY_EXPORT(ScoresByExponentialsBackward);
HWY_EXPORT(Exponentials);

namespace kernels {

void additive_scores(const Real* query, const Real* keys, const Real* v, const uint8_t* allowed,
                     int64_t length, int64_t units, Real* scores) {
  HWY_DYNAMIC_DISPATCH(AdditiveScores)(query, keys, v, allowed, length, units, scores);
}
void additive_scores_backward(const AdditiveBackward& a) {
  HWY_DYNAMIC_DISPATCH(AdditiveScoresBackward)(a);
}

void additive_scores_by_exponentials(const Real* query, const Real* keys, const Real* v,
                                     const uint8_t* allowed, int64_t length, int64_t units,
                                     Real* scores) {
  HWY_DYNAMIC_DISPATCH(ScoresByExponentials)(query, keys, v, allowed, length, units, scores);
}
void additive_scores_by_exponentials_backward(const AdditiveBackward& a) {
  HWY_DYNAMIC_DISPATCH(ScoresByExponentialsBackward)(a);
}
bool additive_exponentials(const Real* x, Real* y, int64_t count) {
  return HWY_DYNAMIC_DISPATCH(Exponentials)(x, y, count);
}
}  // namespace kernels
}  // namespace lookback
#endif
