#ifndef LOOKBACK_DOUBLE

#include "core/kernels/panels.h"

#include <algorithm>
#include <array>
#include <span>
#include <vector>

#include "core/tensor.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "core/kernels/panels.cpp"
#include <hwy/foreach_target.h>
// The order matters: the lines above include this file again for each target.
#include <hwy/cache_control.h>
#include <hwy/highway.h>

#ifndef LOOKBACK_GEMM_PANELS_LEFT
#define LOOKBACK_GEMM_PANELS_LEFT
namespace lookback::panels {
/// Rows of A that go through all panels before the next ones: they stay in the second cache.
constexpr int64_t kRowBlock = 96;

/// The left operand of a block: read as it lies, its rows or (`across`) those of its transpose one after the
/// other; or laid out first, from the rows of its transpose into `scratch`.
struct Left {
  const float* data;
  int64_t stride;
  bool across;
  std::span<const Rows> transposed;
  float* scratch;
};
}  // namespace lookback::panels
#endif

HWY_BEFORE_NAMESPACE();
namespace lookback::panels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

constexpr int64_t kLanes = 8;
constexpr int64_t kAhead = 48;  // rows of a panel that the prefetch runs ahead
constexpr int64_t kShort =
    96;  // up to so many, asking for C and the next panel costs what it saves
constexpr int64_t kTallest = 6;  // rows of a tile: 12 of 16 registers hold its sums

// Vectors of eight on every target, so that all share one layout.
using Eight = hn::FixedTag<float, kLanes>;
using Vector = hn::Vec<Eight>;

/// What one tile adds up: `k` rows of a panel with the tile's rows of A. Element (i, p) of A is at
/// a[i * stride_a + p] or, where the rows of A^T lie (kAcross), at a[p * stride_a + i].
struct Tile {
  int64_t k;
  const float* a;
  int64_t stride_a;
  const float* panel;
  const float* next;  // the panel of the next tile
  float* c;
  int64_t stride, columns;  // of C; columns may be fewer than a panel's at the right edge
  const float* bias;        // of these columns, or null
  bool add;                 // C += instead of C =
};

template <int kRows, bool kAcross>
HWY_INLINE void Compute(const Tile& t, const float* first, int64_t first_stride, float* out,
                        int64_t out_stride) {
  const Eight d;
  Vector left[kRows], right[kRows];
#pragma GCC unroll 8
  for (int i = 0; i < kRows; ++i) {
    left[i] = first ? hn::LoadU(d, first + i * first_stride) : hn::Zero(d);
    right[i] = first ? hn::LoadU(d, first + i * first_stride + kLanes) : hn::Zero(d);
  }
  // C is met again only at the end, and may be far away by then.
  for (int i = 0; i < kRows && t.k > kShort; ++i) hwy::Prefetch(out + i * out_stride);
  const float* a = t.a;
  const float* b = t.panel;
  auto pass = [&](int64_t count, const float* ahead) HWY_ATTR {
    for (int64_t p = 0; p < count; ++p) {
      const Vector b0 = hn::Load(d, b), b1 = hn::Load(d, b + kLanes);
      hwy::Prefetch(ahead);
      b += kPanelWidth;
      ahead += kPanelWidth;
#pragma GCC unroll 8
      for (int i = 0; i < kRows; ++i) {
        const Vector x = hn::Set(d, kAcross ? a[i] : a[i * t.stride_a]);
        left[i] = hn::MulAdd(x, b0, left[i]);
        right[i] = hn::MulAdd(x, b1, right[i]);
      }
      a += kAcross ? t.stride_a : 1;
    }
  };
  // The panel comes from the second cache, or the third where the weights are many: what is read next is
  // asked for early, the first rows for the next tile too.
  const int64_t last = t.k > kShort ? kAhead : 0;
  pass(t.k - last, b + kAhead * kPanelWidth);
  pass(last, t.next);
#pragma GCC unroll 8
  for (int i = 0; i < kRows; ++i) {
    hn::StoreU(left[i], d, out + i * out_stride);
    hn::StoreU(right[i], d, out + i * out_stride + kLanes);
  }
}

/// Columns of C that a panel has and C has not go through a place beside it.
template <int kRows, bool kAcross>
void Run(const Tile& t) {
  if (t.columns == kPanelWidth) {
    const float* first = t.add ? t.c : t.bias;
    Compute<kRows, kAcross>(t, first, t.add ? t.stride : 0, t.c, t.stride);
    return;
  }
  float edge[kRows * kPanelWidth] = {};
  for (int i = 0; i < kRows && (t.add || t.bias); ++i)
    std::copy_n(t.add ? t.c + i * t.stride : t.bias, t.columns, edge + i * kPanelWidth);
  Compute<kRows, kAcross>(t, edge, kPanelWidth, edge, kPanelWidth);
  for (int i = 0; i < kRows; ++i)
    std::copy_n(edge + i * kPanelWidth, t.columns, t.c + i * t.stride);
}

using RunTile = void (*)(const Tile&);
template <bool kAcross>
constexpr std::array<RunTile, kTallest + 1> kRun = {
    nullptr,         Run<1, kAcross>, Run<2, kAcross>, Run<3, kAcross>,
    Run<4, kAcross>, Run<5, kAcross>, Run<6, kAcross>};

/// Rows, at most kRowBlock, cut into tiles as even as can be: 32 = 5 + 5 + 6 + 5 + 5 + 6, since tiles of
/// one or two rows wait for the sums of the one before.
class Tiles {
 public:
  explicit Tiles(int64_t rows) : rows_(rows), count_((rows + kTallest - 1) / kTallest) {
    for (int64_t tile = 0; tile <= count_; ++tile)
      begin_[static_cast<size_t>(tile)] = rows * tile / count_;
  }
  int64_t rows() const { return rows_; }
  int64_t count() const { return count_; }
  int64_t begin(int64_t tile) const { return begin_[static_cast<size_t>(tile)]; }
  int64_t rows(int64_t tile) const { return begin(tile + 1) - begin(tile); }
  /// Where a tile of `depth` begins when all are laid out: a line further each than they are long, or tiles
  /// of a depth of 512 would all fall on the same lines of the first cache.
  int64_t place(int64_t tile, int64_t depth) const {
    return begin(tile) * depth + tile * kPanelWidth;
  }

 private:
  int64_t rows_, count_;
  std::array<int64_t, kRowBlock / kTallest + 1> begin_;
};

/// Lays out `count` rows of A^T, from row `at` of `depth`, for the tiles of rows of A: tile after tile, and
/// in each to[p][i] = a(i, p). Eight rows of A^T at a time, so that their lines of the cache stay for the
/// next tiles even where all fall on the same places. A row is written as eight numbers: those too many are
/// overwritten by the next, and the last ones stand in the line between two tiles.
void PackLeft(const Rows& a, const Tiles& tiles, int64_t at, int64_t depth, float* to) {
  const Eight d;
  for (int64_t block = 0; block < a.count; block += kLanes) {
    const int64_t count = std::min(kLanes, a.count - block);
    const float* first = a.data + block * a.stride;
    for (int64_t tile = 0; tile < tiles.count(); ++tile) {
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

/// An 8 x 8 block of rows `stride` apart, transposed, into rows of a panel.
HWY_INLINE void TransposeEight(const float* from, int64_t stride, float* to) {
  const Eight d;
  const hn::Repartition<double, Eight> pairs;
  Vector r[8], t[8];
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
    Vector top = four(odd, odd + 2, column % 2), bottom = four(odd + 4, odd + 6, column % 2);
    hn::Store(hn::ConcatLowerLower(d, bottom, top), d, to + column * kPanelWidth);
    hn::Store(hn::ConcatUpperUpper(d, bottom, top), d, to + (column + 4) * kPanelWidth);
  }
}

void PackPanel(const MatrixView& b, int64_t k, int64_t column, int64_t columns, float* to) {
  int64_t p = 0;
  if (columns == kPanelWidth && b.transposed) {
    const float* from = b.data + column * b.stride;
    for (; p + kLanes <= k; p += kLanes) {
      TransposeEight(from + p, b.stride, to + p * kPanelWidth);
      TransposeEight(from + kLanes * b.stride + p, b.stride, to + p * kPanelWidth + kLanes);
    }
  }
  const Eight d;
  for (; columns == kPanelWidth && !b.transposed && p < k;
       ++p) {  // std::copy_n would call memmove for every row
    const float* from = b.data + p * b.stride + column;
    hn::Store(hn::LoadU(d, from), d, to + p * kPanelWidth);
    hn::Store(hn::LoadU(d, from + kLanes), d, to + p * kPanelWidth + kLanes);
  }
  for (; p < k; ++p) {
    float* row = to + p * kPanelWidth;
    if (!b.transposed) {
      std::copy_n(b.data + p * b.stride + column, columns, row);
    } else {
      for (int64_t j = 0; j < columns; ++j) row[j] = b.data[(column + j) * b.stride + p];
    }
    std::fill(row + columns, row + kPanelWidth, 0.0f);
  }
}

/// C (+)= A times `k` rows of panels, which lie `panel` numbers apart. Rows of C go block by block, so
/// that a block of A stays in the second cache while all panels pass.
void MultiplyBlock(const Left& a, const float* panels, int64_t panel, int64_t k,
                   const MutableMatrix& c, const float* bias, bool add) {
  for (int64_t block = 0; block < c.rows; block += kRowBlock) {
    Tiles tiles(std::min(kRowBlock, c.rows - block));
    int64_t at = 0;
    for (Rows rows : a.transposed) {
      rows.data += block;
      PackLeft(rows, tiles, at, k, a.scratch);
      at += rows.count;
    }
    for (int64_t column = 0; column < c.columns; column += kPanelWidth) {
      for (int64_t tile = 0; tile < tiles.count(); ++tile) {
        int64_t row = tiles.begin(tile), rows = tiles.rows(tile);
        Tile t{.k = k,
               .a = a.scratch  ? a.scratch + tiles.place(tile, k)
                    : a.across ? a.data + block + row
                               : a.data + (block + row) * a.stride,
               .stride_a = a.scratch ? rows : a.stride,
               .panel = panels + column / kPanelWidth * panel,
               .next = panels + (column / kPanelWidth + (tile + 1 == tiles.count())) * panel,
               .c = c.data + (block + row) * c.stride + column,
               .stride = c.stride,
               .columns = std::min(kPanelWidth, c.columns - column),
               .bias = bias ? bias + column : nullptr,
               .add = add};
        (a.across ? kRun<true> : kRun<false>)[static_cast<size_t>(rows)](t);
      }
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace lookback::panels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace lookback::panels {
HWY_EXPORT(PackPanel);
HWY_EXPORT(MultiplyBlock);

namespace {

constexpr int64_t kLongest =
    512;  // rows of B that pass at a time: a panel of them fits the first cache
constexpr int64_t kWidest = 1024;  // columns that are laid out at a time

int64_t all_rows(std::span<const Rows> parts) {
  int64_t count = 0;
  for (const Rows& part : parts) count += part.count;
  return count;
}

/// Rows [begin, begin + count) of parts that stand one below the other.
std::vector<Rows> between(std::span<const Rows> parts, int64_t begin, int64_t count) {
  std::vector<Rows> out;
  for (const Rows& part : parts) {
    int64_t from = std::max<int64_t>(begin, 0), until = std::min(begin + count, part.count);
    if (from < until) out.push_back({part.data + from * part.stride, part.stride, until - from});
    begin -= part.count;
  }
  return out;
}

/// Calls body(begin, count) over even parts of [0, k), none longer than kLongest.
template <class Body>
void over_depth(int64_t k, Body&& body) {
  int64_t parts = (k + kLongest - 1) / kLongest;
  for (int64_t part = 0; part < parts; ++part) {
    int64_t begin = k * part / parts;
    body(begin, k * (part + 1) / parts - begin);
  }
}

/// Whether the rows of A^T lie so close that reading a few numbers of each, k of them for a tile, stays in
/// the cache: no more memory than that, and no stride that puts all on the same places.
bool lies_close(const Rows& a, int64_t k) {
  constexpr int64_t kBytes = 1 << 20, kFloat = sizeof(float);
  return k * a.stride * kFloat <= kBytes && a.stride * kFloat % 1024 != 0;
}

/// The left operand, from which each block of the depth is taken.
class LeftOperand {
 public:
  LeftOperand(const MatrixView& a, int64_t k)
      : rows_{{a.data, a.stride, k}}, across_(a.transposed) {
    make_scratch(k);
  }
  LeftOperand(std::span<const Rows> transposed, int64_t k)
      : rows_(transposed.begin(), transposed.end()), across_(true) {
    make_scratch(k);
  }

  Left block(int64_t begin, int64_t count) {
    const Rows& a = rows_[0];
    if (!scratch_.defined())
      return {a.data + (across_ ? begin * a.stride : begin), a.stride, across_, {}, nullptr};
    part_ = between(rows_, begin, count);
    return {nullptr, 0, true, part_, scratch_.data()};
  }

 private:
  void make_scratch(int64_t k) {
    if (across_ && !(rows_.size() == 1 && lies_close(rows_[0], k)))
      scratch_ = Tensor({kRowBlock * (std::min(k, kLongest) + kPanelWidth)});
  }

  std::vector<Rows> rows_, part_;
  bool across_;
  Tensor scratch_;
};

/// C (+)= A B, where lay_out(begin, count, column, columns, to) makes a panel of rows [begin, begin +
/// count) of B.
template <class LayOut>
void multiply_on_the_way(LeftOperand left, int64_t k, const MutableMatrix& c,
                         const GemmOptions& options, LayOut&& lay_out) {
  Tensor packed({packed_count(std::min(k, kLongest), std::min(c.columns, kWidest))});
  for (int64_t first = 0; first < c.columns; first += kWidest) {
    MutableMatrix out = c;
    out.data += first;
    out.columns = std::min(kWidest, c.columns - first);
    over_depth(k, [&](int64_t begin, int64_t count) {
      for (int64_t column = 0; column < out.columns; column += kPanelWidth)
        lay_out(begin, count, first + column, std::min(kPanelWidth, out.columns - column),
                packed.data() + column * count);
      HWY_DYNAMIC_DISPATCH(MultiplyBlock)
      (left.block(begin, count), packed.data(), count * kPanelWidth, count, out,
       begin == 0 && options.bias ? options.bias + first : nullptr,
       options.accumulate || begin > 0);
    });
  }
}

}  // namespace

bool suit_processor() {
  static const bool suit = (hwy::SupportedTargets() & (HWY_AVX3 | HWY_AVX3_DL)) == 0;
  return suit;
}

void pack(const MatrixView& b, int64_t begin, int64_t end, Real* to) {
  int64_t k = row_count(b);
  for (int64_t column = begin; column < end; column += kPanelWidth) {
    int64_t columns = std::min(kPanelWidth, end - column);
    HWY_DYNAMIC_DISPATCH(PackPanel)(b, k, column, columns, to + column * k);
  }
}

void multiply(const MatrixView& a, const Panels& packed, const MutableMatrix& c,
              const GemmOptions& options) {
  int64_t k = column_count(a);
  LeftOperand left(a, k);
  over_depth(k, [&](int64_t begin, int64_t count) {
    HWY_DYNAMIC_DISPATCH(MultiplyBlock)
    (left.block(begin, count), packed.data + begin * kPanelWidth, packed.depth * kPanelWidth, count,
     c, begin == 0 ? options.bias : nullptr, options.accumulate || begin > 0);
  });
}

void multiply(const MatrixView& a, const MatrixView& b, const MutableMatrix& c,
              const GemmOptions& options) {
  int64_t k = column_count(a);
  multiply_on_the_way(
      LeftOperand(a, k), k, c, options,
      [&](int64_t begin, int64_t count, int64_t column, int64_t columns, float* to) {
        MatrixView part = b;
        part.data += b.transposed ? begin : begin * b.stride;
        HWY_DYNAMIC_DISPATCH(PackPanel)(part, count, column, columns, to);
      });
}

void multiply_rows(std::span<const Rows> a, std::span<const Rows> b, const MutableMatrix& c,
                   const GemmOptions& options) {
  int64_t k = all_rows(a);
  multiply_on_the_way(
      LeftOperand(a, k), k, c, options,
      [&](int64_t begin, int64_t count, int64_t column, int64_t columns, float* to) {
        for (const Rows& part : between(b, begin, count)) {
          MatrixView rows{.data = part.data,
                          .rows = part.count,
                          .columns = column + columns,
                          .stride = part.stride};
          HWY_DYNAMIC_DISPATCH(PackPanel)(rows, part.count, column, columns, to);
          to += part.count * kPanelWidth;
        }
      });
}

}  // namespace lookback::panels
#endif

#endif
