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

}  // namespace HWY_NAMESPACE
}  // namespace lookback
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace lookback {
HWY_EXPORT(AdditiveScores);
HWY_EXPORT(AdditiveScoresBackward);

namespace kernels {

void additive_scores(const Real* query, const Real* keys, const Real* v, const uint8_t* allowed,
                     int64_t length, int64_t units, Real* scores) {
  HWY_DYNAMIC_DISPATCH(AdditiveScores)(query, keys, v, allowed, length, units, scores);
}
void additive_scores_backward(const AdditiveBackward& a) {
  HWY_DYNAMIC_DISPATCH(AdditiveScoresBackward)(a);
}
}  // namespace kernels
}  // namespace lookback
#endif
