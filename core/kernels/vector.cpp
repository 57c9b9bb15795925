#include "core/kernels/vector.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "core/kernels/vector.cpp"
#include <hwy/foreach_target.h>
// The order matters: the lines above include this file again for each target.
#include "core/kernels/math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace lookback {
namespace HWY_NAMESPACE {

void AddScaled(Real weight, const Real* row, Real* sum, int64_t count) {
  ForLanes(count, [&](auto d, int64_t i) HWY_ATTR {
    hn::StoreU(hn::MulAdd(hn::Set(d, weight), hn::LoadU(d, row + i), hn::LoadU(d, sum + i)), d,
               sum + i);
  });
}

Real Dot(const Real* a, const Real* b, int64_t count) {
  return SumLanes(count, [&](auto d, int64_t i, auto sum) HWY_ATTR {
    return hn::MulAdd(hn::LoadU(d, a + i), hn::LoadU(d, b + i), sum);
  });
}

/// The sum over whole vectors and what is left of a . b from element i on, by multiply-adds that no compiler
/// contracts in one place and not in another.
template <class V>
HWY_INLINE Real FinishDot(V sums, const Real* a, const Real* b, int64_t i, int64_t count) {
  const hn::CappedTag<Real, 1> one;
  auto sum = hn::Set(one, hn::GetLane(hn::SumOfLanes(hn::ScalableTag<Real>(), sums)));
  for (; i < count; ++i) sum = hn::MulAdd(hn::Set(one, a[i]), hn::Set(one, b[i]), sum);
  return hn::GetLane(sum);
}

inline const Real* RowAt(const kernels::ManyRows& rows, int64_t i) {
  return rows.data + i * rows.stride;
}
inline const Real* RowAt(const kernels::PlacedRows& rows, int64_t i) {
  return rows.places[i] + rows.offset;
}

template <class Rows>
HWY_INLINE void DotsOf(const Real* row, const Rows& rows, Real* out) {
  const hn::ScalableTag<Real> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d)), whole = rows.width / lanes * lanes;
  int64_t i = 0;
  for (; i + 4 <= rows.count; i += 4) {
    const Real *r0 = RowAt(rows, i), *r1 = RowAt(rows, i + 1), *r2 = RowAt(rows, i + 2),
               *r3 = RowAt(rows, i + 3);
    auto s0 = hn::Zero(d), s1 = hn::Zero(d), s2 = hn::Zero(d), s3 = hn::Zero(d);
    for (int64_t j = 0; j < whole; j += lanes) {
      auto x = hn::LoadU(d, row + j);
      s0 = hn::MulAdd(x, hn::LoadU(d, r0 + j), s0);
      s1 = hn::MulAdd(x, hn::LoadU(d, r1 + j), s1);
      s2 = hn::MulAdd(x, hn::LoadU(d, r2 + j), s2);
      s3 = hn::MulAdd(x, hn::LoadU(d, r3 + j), s3);
    }
    out[i] = FinishDot(s0, row, r0, whole, rows.width);
    out[i + 1] = FinishDot(s1, row, r1, whole, rows.width);
    out[i + 2] = FinishDot(s2, row, r2, whole, rows.width);
    out[i + 3] = FinishDot(s3, row, r3, whole, rows.width);
  }
  for (; i < rows.count; ++i) {  // in the same order: which rows go together is not to be seen
    const Real* r = RowAt(rows, i);
    auto s = hn::Zero(d);
    for (int64_t j = 0; j < whole; j += lanes)
      s = hn::MulAdd(hn::LoadU(d, row + j), hn::LoadU(d, r + j), s);
    out[i] = FinishDot(s, row, r, whole, rows.width);
  }
}

template <class Rows>
HWY_INLINE void AddWeightedOf(const Real* weights, const Rows& rows, Real* sum) {
  int64_t i = 0;
  while (i < rows.count) {
    const Real* w = weights + i;
    bool four = i + 4 <= rows.count && w[0] != 0 && w[1] != 0 && w[2] != 0 && w[3] != 0;
    if (!four) {
      if (w[0] != 0) AddScaled(w[0], RowAt(rows, i), sum, rows.width);
      ++i;
      continue;
    }
    const Real *r0 = RowAt(rows, i), *r1 = RowAt(rows, i + 1), *r2 = RowAt(rows, i + 2),
               *r3 = RowAt(rows, i + 3);
    ForLanes(rows.width, [&](auto d, int64_t j) HWY_ATTR {
      auto s = hn::MulAdd(hn::Set(d, w[0]), hn::LoadU(d, r0 + j), hn::LoadU(d, sum + j));
      s = hn::MulAdd(hn::Set(d, w[1]), hn::LoadU(d, r1 + j), s);
      s = hn::MulAdd(hn::Set(d, w[2]), hn::LoadU(d, r2 + j), s);
      s = hn::MulAdd(hn::Set(d, w[3]), hn::LoadU(d, r3 + j), s);
      hn::StoreU(s, d, sum + j);
    });
    i += 4;
  }
}

void Dots(const Real* row, const kernels::ManyRows& rows, Real* out) {
  DotsOf(row, rows, out);
}
void PlacedDots(const Real* row, const kernels::PlacedRows& rows, Real* out) {
  DotsOf(row, rows, out);
}
void AddWeighted(const Real* weights, const kernels::ManyRows& rows, Real* sum) {
  AddWeightedOf(weights, rows, sum);
}
void AddPlacedWeighted(const Real* weights, const kernels::PlacedRows& rows, Real* sum) {
  AddWeightedOf(weights, rows, sum);
}

void Multiply(Real factor, Real* row, int64_t count) {
  ForLanes(count, [&](auto d, int64_t i) HWY_ATTR {
    hn::StoreU(hn::Mul(hn::Set(d, factor), hn::LoadU(d, row + i)), d, row + i);
  });
}

bool AllFinite(const Real* x, int64_t rows, int64_t count, int64_t stride) {
  // x * 0 is 0 for what is finite, else NaN, and a NaN stays in the sum: no branch an element.
  const hn::ScalableTag<Real> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d)), whole = count / lanes * lanes;
  auto sums = hn::Zero(d);
  Real sum = 0;
  for (int64_t r = 0; r < rows; ++r, x += stride) {
    for (int64_t i = 0; i < whole; i += lanes)
      sums = hn::MulAdd(hn::LoadU(d, x + i), hn::Zero(d), sums);
    for (int64_t i = whole; i < count; ++i) sum += x[i] * 0;
  }
  return sum + hn::GetLane(hn::SumOfLanes(d, sums)) == 0;
}

}  // namespace HWY_NAMESPACE
}  // namespace lookback
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace lookback {
HWY_EXPORT(AddScaled);
HWY_EXPORT(Dot);
HWY_EXPORT(Dots);
HWY_EXPORT(PlacedDots);
HWY_EXPORT(AddWeighted);
HWY_EXPORT(AddPlacedWeighted);
HWY_EXPORT(Multiply);
HWY_EXPORT(AllFinite);

namespace kernels {

void add_scaled(Real weight, const Real* row, Real* sum, int64_t count) {
  HWY_DYNAMIC_DISPATCH(AddScaled)(weight, row, sum, count);
}
Real dot(const Real* a, const Real* b, int64_t count) {
  return HWY_DYNAMIC_DISPATCH(Dot)(a, b, count);
}

void dots(const Real* row, const ManyRows& rows, Real* out) {
  HWY_DYNAMIC_DISPATCH(Dots)(row, rows, out);
}

void dots(const Real* row, const PlacedRows& rows, Real* out) {
  HWY_DYNAMIC_DISPATCH(PlacedDots)(row, rows, out);
}

void add_weighted(const Real* weights, const ManyRows& rows, Real* sum) {
  HWY_DYNAMIC_DISPATCH(AddWeighted)(weights, rows, sum);
}

void add_weighted(const Real* weights, const PlacedRows& rows, Real* sum) {
  HWY_DYNAMIC_DISPATCH(AddPlacedWeighted)(weights, rows, sum);
}

void multiply(Real factor, Real* row, int64_t count) {
  HWY_DYNAMIC_DISPATCH(Multiply)(factor, row, count);
}

bool all_finite(const Real* x, int64_t rows, int64_t count, int64_t stride) {
  return HWY_DYNAMIC_DISPATCH(AllFinite)(x, rows, count, stride);
}

}  // namespace kernels
}  // namespace lookback
#endif
