// Included once for each processor target; see hwy/foreach_target.h.
#if defined(LOOKBACK_KERNELS_TRANSPOSE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef LOOKBACK_KERNELS_TRANSPOSE_INL_H_
#undef LOOKBACK_KERNELS_TRANSPOSE_INL_H_
#else
#define LOOKBACK_KERNELS_TRANSPOSE_INL_H_
#endif

#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace lookback {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// An 8 x 8 block of rows `stride` apart, transposed, as rows `to_stride` apart; `to` is aligned to 32 bytes and
/// to_stride a multiple of 8.
HWY_INLINE void TransposeEight(const float* from, int64_t stride, float* to, int64_t to_stride) {
  const hn::FixedTag<float, 8> d;
  const hn::Repartition<double, decltype(d)> pairs;
  hn::Vec<decltype(d)> r[8], t[8];
#pragma GCC unroll 8
  for (int i = 0; i < 8; ++i) r[i] = hn::LoadU(d, from + i * stride);
#pragma GCC unroll 4
  for (int i = 0; i < 8; i += 2) {
    t[i] = hn::InterleaveLower(d, r[i], r[i + 1]);
    t[i + 1] = hn::InterleaveUpper(d, r[i], r[i + 1]);
  }
  // t[i], t[i + 2] hold columns (0, 1 | 4, 5) of rows i..i+3, and t[i + 1], t[i + 3] columns 2, 3 | 6, 7.
  auto four = [&](int i, int j, bool upper) HWY_ATTR {
    auto x = hn::BitCast(pairs, t[i]), y = hn::BitCast(pairs, t[j]);
    return hn::BitCast(d,
                       upper ? hn::InterleaveUpper(pairs, x, y) : hn::InterleaveLower(pairs, x, y));
  };
#pragma GCC unroll 4
  for (int column = 0; column < 4; ++column) {
    int odd = column / 2;
    auto top = four(odd, odd + 2, column % 2), bottom = four(odd + 4, odd + 6, column % 2);
    hn::Store(hn::ConcatLowerLower(d, bottom, top), d, to + column * to_stride);
    hn::Store(hn::ConcatUpperUpper(d, bottom, top), d, to + (column + 4) * to_stride);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace lookback
HWY_AFTER_NAMESPACE();

#endif
