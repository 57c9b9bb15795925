#include "core/kernels/additive.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "core/kernels/additive.cpp"
#include <hwy/foreach_target.h>
// The order matters: the lines above include this file again for each target.
#include "core/kernels/math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace lookback {
namespace HWY_NAMESPACE {

void AdditiveScores(const Real* query, const Real* keys, const Real* v, const uint8_t* allowed,
                    int64_t length, int64_t units, Real* scores) {
  for (int64_t j = 0; j < length; ++j) {
    if (allowed && !allowed[j]) continue;
    const Real* key = keys + j * units;
    scores[j] = SumLanes(units, [&](auto d, int64_t i, auto sum) HWY_ATTR {
      auto t = VecTanh(d, hn::Add(hn::LoadU(d, query + i), hn::LoadU(d, key + i)));
      return hn::MulAdd(hn::LoadU(d, v + i), t, sum);
    });
  }
}

void AdditiveScoresBackward(const kernels::AdditiveBackward& a) {
  for (int64_t j = 0; j < a.length; ++j) {
    if (a.d[j] == 0) continue;
    const Real* key = a.keys + j * a.units;
    Real* dkey = a.dkeys + j * a.units;
    ForLanes(a.units, [&](auto d, int64_t i) HWY_ATTR {
      auto t = VecTanh(d, hn::Add(hn::LoadU(d, a.query + i), hn::LoadU(d, key + i)));
      auto dj = hn::Set(d, a.d[j]);
      auto g =
          hn::Mul(hn::Mul(dj, hn::LoadU(d, a.v + i)), hn::NegMulAdd(t, t, hn::Set(d, Real{1})));
      hn::StoreU(hn::Add(hn::LoadU(d, a.dquery + i), g), d, a.dquery + i);
      hn::StoreU(hn::Add(hn::LoadU(d, dkey + i), g), d, dkey + i);
      hn::StoreU(hn::MulAdd(dj, t, hn::LoadU(d, a.dv + i)), d, a.dv + i);
    });
  }
}

template <class D, class V>
HWY_INLINE V OneOver(D d, V eq, V ek) {
  const V one = hn::Set(d, Real{1});
  return hn::Div(one, hn::MulAdd(eq, ek, one));
}

void ScoresByExponentials(const Real* query, const Real* keys, const Real* v,
                          const uint8_t* allowed, int64_t length, int64_t units, Real* scores) {
  // v . (1 - 2 r) = sum v - 2 v . r
  Real whole = SumLanes(units, [&](auto d, int64_t i, auto sum)
                                   HWY_ATTR { return hn::Add(sum, hn::LoadU(d, v + i)); });
  for (int64_t j = 0; j < length; ++j) {
    if (allowed && !allowed[j]) continue;
    const Real* key = keys + j * units;
    scores[j] = whole - 2 * SumLanes(units, [&](auto d, int64_t i, auto sum) HWY_ATTR {
                          auto r = OneOver(d, hn::LoadU(d, query + i), hn::LoadU(d, key + i));
                          return hn::MulAdd(hn::LoadU(d, v + i), r, sum);
                        });
  }
}

void ScoresByExponentialsBackward(const kernels::AdditiveBackward& a) {
  for (int64_t j = 0; j < a.length; ++j) {
    if (a.d[j] == 0) continue;
    const Real* key = a.keys + j * a.units;
    Real* dkey = a.dkeys + j * a.units;
    ForLanes(a.units, [&](auto d, int64_t i) HWY_ATTR {
      auto r = OneOver(d, hn::LoadU(d, a.query + i), hn::LoadU(d, key + i));
      auto slope = hn::NegMulAdd(r, r, r);  // r (1 - r)
      auto g = hn::Mul(hn::Mul(hn::Set(d, 4 * a.d[j]), hn::LoadU(d, a.v + i)), slope);
      hn::StoreU(hn::Add(hn::LoadU(d, a.dquery + i), g), d, a.dquery + i);
      hn::StoreU(hn::Add(hn::LoadU(d, dkey + i), g), d, dkey + i);
      auto t = hn::NegMulAdd(hn::Set(d, Real{2}), r, hn::Set(d, Real{1}));
      hn::StoreU(hn::MulAdd(hn::Set(d, a.d[j]), t, hn::LoadU(d, a.dv + i)), d, a.dv + i);
    });
  }
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
