#include "core/kernels/transpose.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "core/kernels/transpose.cpp"
#include <hwy/foreach_target.h>
// The order matters: the lines above include this file again for each target.
#include <hwy/cache_control.h>

#include "core/kernels/transpose-inl.h"

HWY_BEFORE_NAMESPACE();
namespace lookback {
namespace HWY_NAMESPACE {

/// Blocks of 8 x 8 that lie inside. Neither side is read along its rows for long, so both are asked for early.
void AddTransposedBlocks(const float* from, int64_t from_stride, int64_t rows, int64_t columns,
                         float* to, int64_t to_stride) {
  constexpr int64_t kAhead = 16;
  const hn::FixedTag<float, 8> d;
  alignas(32) float block[64];
  for (int64_t j = 0; j + 8 <= columns; j += 8)
    for (int64_t i = 0; i + 8 <= rows; i += 8) {
      TransposeEight(from + i * from_stride + j, from_stride, block, 8);
      for (int64_t r = 0; r < 8; ++r) {
        float* row = to + (j + r) * to_stride + i;
        hwy::Prefetch(row + kAhead * to_stride);
        hwy::Prefetch(from + (i + r) * from_stride + j + kAhead);
        hn::StoreU(hn::Add(hn::LoadU(d, row), hn::Load(d, block + r * 8)), d, row);
      }
    }
}

}  // namespace HWY_NAMESPACE
}  // namespace lookback
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace lookback {
HWY_EXPORT(AddTransposedBlocks);

namespace kernels {

void add_transposed(const Real* from, int64_t from_stride, int64_t rows, int64_t columns, Real* to,
                    int64_t to_stride) {
  int64_t whole_rows = 0, whole_columns = 0;
#ifndef LOOKBACK_DOUBLE
  HWY_DYNAMIC_DISPATCH(AddTransposedBlocks)(from, from_stride, rows, columns, to, to_stride);
  whole_rows = rows / 8 * 8, whole_columns = columns / 8 * 8;
#endif
  for (int64_t j = 0; j < columns; ++j)
    for (int64_t i = j < whole_columns ? whole_rows : 0; i < rows; ++i)
      to[j * to_stride + i] += from[i * from_stride + j];
}

}  // namespace kernels
}  // namespace lookback
#endif
