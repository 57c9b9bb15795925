// Included once for each processor target; see hwy/foreach_target.h.
#if defined(LOOKBACK_KERNELS_PANELS_LAYOUT_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef LOOKBACK_KERNELS_PANELS_LAYOUT_INL_H_
#undef LOOKBACK_KERNELS_PANELS_LAYOUT_INL_H_
#else
#define LOOKBACK_KERNELS_PANELS_LAYOUT_INL_H_
#endif

#include <algorithm>

#include <hwy/highway.h>

#include "core/gemm.h"
#include "core/kernels/transpose-inl.h"

// How panels.h lays out both operands of a product for its tiles.

HWY_BEFORE_NAMESPACE();
namespace lookback::panels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
using lookback::HWY_NAMESPACE::TransposeEight;

constexpr int64_t kLanes = 8;
constexpr int64_t kTallest = 6;  // rows of a tile: 12 of 16 registers hold its sums

// Vectors of eight on every target, so that all share one layout.
using Eight = hn::FixedTag<float, kLanes>;

/// The rows of a block cut into tiles as even as can be: 32 = 6 + 6 + 5 + 5 + 5 + 5, since tiles of
/// one or two rows wait for the sums of the one before.
struct Tiles {
  int64_t count, low, tall;  // low: the rows of the lower ones, the first `tall` have one more

  explicit Tiles(int64_t rows)
      : count((rows + kTallest - 1) / kTallest), low(rows / count), tall(rows - low * count) {}
  int64_t rows() const { return low * count + tall; }
  int64_t rows(int64_t tile) const { return low + (tile < tall); }
  int64_t begin(int64_t tile) const { return tile * low + std::min(tile, tall); }
  /// Where a tile of `depth` begins when all are laid out: a line further each than they are long, or tiles
  /// of a depth of 512 would all fall on the same lines of the first cache.
  int64_t place(int64_t tile, int64_t depth) const {
    return begin(tile) * depth + tile * kPanelWidth;
  }
};

/// Lays out `count` rows of A^T, from row `at` of `depth`, for the tiles of rows of A: tile after tile, and
/// in each to[p][i] = a(i, p). Eight rows of A^T at a time, so that their lines of the cache stay for the
/// next tiles even where all fall on the same places. A row is written as eight numbers: those too many are
/// overwritten by the next, and the last ones stand in the line between two tiles.
inline void PackLeft(const Rows& a, const Tiles& tiles, int64_t at, int64_t depth, float* to) {
  const Eight d;
  for (int64_t block = 0; block < a.count; block += kLanes) {
    const int64_t count = std::min(kLanes, a.count - block);
    const float* first = a.data + block * a.stride;
    for (int64_t tile = 0; tile < tiles.count; ++tile) {
      const int64_t begin = tiles.begin(tile), rows = tiles.rows(tile);
      const float* from = first + begin;
      float* out = to + tiles.place(tile, depth) + (at + block) * rows;
      if (begin + kLanes <= tiles.rows()) {
        for (int64_t p = 0; p < count; ++p, from += a.stride, out += rows)
          hn::StoreU(hn::LoadU(d, from), d, out);
      } else {
        const auto inside = hn::FirstN(d, static_cast<size_t>(rows));
        for (int64_t p = 0; p < count; ++p, from += a.stride, out += rows)
          hn::StoreU(hn::MaskedLoad(inside, d, from), d, out);
      }
    }
  }
}

/// A panel of `columns` columns of B, or fewer at the right edge, where it is filled up with zeros.
inline void PackPanel(const MatrixView& b, int64_t k, int64_t column, int64_t columns, float* to) {
  int64_t p = 0;
  if (columns == kPanelWidth && b.transposed) {
    const float* from = b.data + column * b.stride;
    for (; p + kLanes <= k; p += kLanes) {
      TransposeEight(from + p, b.stride, to + p * kPanelWidth, kPanelWidth);
      TransposeEight(from + kLanes * b.stride + p, b.stride, to + p * kPanelWidth + kLanes,
                     kPanelWidth);
    }
  }
  for (; p < k; ++p) {
    float* row = to + p * kPanelWidth;
    for (int64_t j = 0; j < columns; ++j)
      row[j] =
          b.transposed ? b.data[(column + j) * b.stride + p] : b.data[p * b.stride + column + j];
    std::fill(row + columns, row + kPanelWidth, 0.0f);
  }
}

/// `count` whole panels side by side: B's rows are read along, since one line of each would be all that is used of
/// a page. No more than four: the panels may be a power of two apart.
template <int kCount>
HWY_INLINE void PackRows(const MatrixView& b, int64_t k, int64_t column, int64_t panel, float* to) {
  const Eight d;
  for (int64_t p = 0; p < k; ++p) {
    const float* from = b.data + p * b.stride + column;
#pragma GCC unroll 4
    for (int j = 0; j < kCount; ++j) {
      float* row = to + j * panel + p * kPanelWidth;
      hn::Store(hn::LoadU(d, from + j * kPanelWidth), d, row);
      hn::Store(hn::LoadU(d, from + j * kPanelWidth + kLanes), d, row + kLanes);
    }
  }
}

/// Lays out k rows of columns [begin, end) of B in panels `panel` numbers apart, `to` being the first one's place.
inline void Pack(const MatrixView& b, int64_t k, int64_t begin, int64_t end, int64_t panel,
                 float* to) {
  for (int64_t column = begin; column < end;) {
    const int64_t whole = b.transposed ? 0 : (end - column) / kPanelWidth;
    int64_t count = 1;
    if (whole >= 4) {
      PackRows<4>(b, k, column, panel, to);
      count = 4;
    } else if (whole > 0) {
      PackRows<1>(b, k, column, panel, to);
    } else {
      PackPanel(b, k, column, std::min(kPanelWidth, end - column), to);
    }
    column += count * kPanelWidth;
    to += count * panel;
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace lookback::panels
HWY_AFTER_NAMESPACE();

#endif
