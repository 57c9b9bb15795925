#ifndef LOOKBACK_DOUBLE

#include "core/kernels/panels.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <span>
#include <vector>

#include "core/tensor.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "core/kernels/panels.cpp"
#include <hwy/foreach_target.h>
// The order matters: the lines above include this file again for each target.
#include <hwy/cache_control.h>
#include <hwy/highway.h>

#include "core/kernels/panels_layout-inl.h"

#ifndef LOOKBACK_GEMM_PANELS_OPERANDS
#define LOOKBACK_GEMM_PANELS_OPERANDS
namespace lookback::panels {
/// Rows of A that go through all panels before the next ones (MC): they stay in the second cache.
constexpr int64_t kRowBlock = 96;

/// The left operand of a block, A (rows, k), in one of two ways:
/// - `scratch` is null: A is read where it lies, its rows `stride` apart at `data` or, with `across`, those of A^T.
/// - else it is read from `scratch`, where the rows of A^T in `transposed` are laid out first (none: they were
///   before).
struct Left {
  const float* data;
  int64_t stride;
  bool across;
  std::span<const Rows> transposed;
  float* scratch;
};

/// The right operand of a block: panels `panel` numbers apart, of rows `row` apart. And what to prefetch while it
/// is multiplied, since no hardware foresees it: a line of each of k rows, `soon_row` apart (null: nothing).
struct Right {
  const float* data;
  int64_t panel, row = kPanelWidth;
  const float* soon = nullptr;
  int64_t soon_row = 0;
};
}  // namespace lookback::panels
#endif

HWY_BEFORE_NAMESPACE();
namespace lookback::panels {
namespace HWY_NAMESPACE {
constexpr int64_t kAhead = 48;  // rows of a panel that the prefetch runs ahead
constexpr int64_t kShort =
    96;  // up to this depth, prefetching C and the next panel costs what it saves

using Vector = hn::Vec<Eight>;

/// Tiles of one height, one below the other, of a panel's columns of C: each adds up `k` rows of the panel with
/// its rows of A. Element (i, p) of A is at a[i * stride_a + p] or, where the rows of A^T lie (kAcross), at
/// a[p * stride_a + i].
struct Strip {
  int64_t tiles, k;
  const float* a;
  int64_t stride_a, next_a;  // to the next tile's
  const float* panel;
  int64_t panel_row;  // from one row of it to the next
  // Prefetches go by addresses alone, which may lie past the end.
  const float* next;        // the panel of what comes after this strip: its first rows
  const float* soon;        // as Right's: each tile asks for `share` rows
  int64_t soon_row, share;  // share is 0 where soon is null
  float* c;
  int64_t stride, columns;  // of C; columns may be fewer than a panel's at the right edge
  const float* bias;        // of these columns, or null
  bool add;                 // C += instead of C =
};

/// One tile, to `out`. Its sums start from `first` (C, or with a stride of 0 the bias), or from 0 where it is null.
template <int kRows, bool kAcross>
HWY_INLINE void Compute(const Strip& s, const float* a, const float* next, const float* first,
                        int64_t first_stride, float* out, int64_t out_stride) {
  const Eight d;
  Vector left[kRows], right[kRows];
#pragma GCC unroll 8
  for (int i = 0; i < kRows; ++i) {
    left[i] = first ? hn::LoadU(d, first + i * first_stride) : hn::Zero(d);
    right[i] = first ? hn::LoadU(d, first + i * first_stride + kLanes) : hn::Zero(d);
  }
  // C is met again only at the end, and may be far away by then.
  for (int i = 0; i < kRows && s.k > kShort; ++i) hwy::Prefetch(out + i * out_stride);
  const float* b = s.panel;
  auto pass = [&](int64_t count, const float* ahead) HWY_ATTR {
    for (int64_t p = 0; p < count; ++p) {
      const Vector b0 = hn::Load(d, b), b1 = hn::Load(d, b + kLanes);
      hwy::Prefetch(ahead);
      b += s.panel_row;
      ahead += s.panel_row;
#pragma GCC unroll 8
      for (int i = 0; i < kRows; ++i) {
        const Vector x = hn::Set(d, kAcross ? a[i] : a[i * s.stride_a]);
        left[i] = hn::MulAdd(x, b0, left[i]);
        right[i] = hn::MulAdd(x, b1, right[i]);
      }
      a += kAcross ? s.stride_a : 1;
    }
  };
  // The panel comes from the second cache, or the third where the weights are many: what is read next is
  // asked for early, the first rows for the next tile too.
  const int64_t last = s.k > kShort ? kAhead : 0;
  pass(s.k - last, b + kAhead * s.panel_row);
  pass(last, next);
#pragma GCC unroll 8
  for (int i = 0; i < kRows; ++i) {
    hn::StoreU(left[i], d, out + i * out_stride);
    hn::StoreU(right[i], d, out + i * out_stride + kLanes);
  }
}

/// A tile at the right edge: columns that a panel has and C has not go through a place beside it.
template <int kRows, bool kAcross>
HWY_NOINLINE void RunEdge(const Strip& s, const float* a, const float* next, float* c) {
  float edge[kRows * kPanelWidth] = {};
  for (int i = 0; i < kRows && (s.add || s.bias); ++i)
    std::copy_n(s.add ? c + i * s.stride : s.bias, s.columns, edge + i * kPanelWidth);
  Compute<kRows, kAcross>(s, a, next, edge, kPanelWidth, edge, kPanelWidth);
  for (int i = 0; i < kRows; ++i) std::copy_n(edge + i * kPanelWidth, s.columns, c + i * s.stride);
}

template <int kRows, bool kAcross>
void Run(const Strip& s) {
  const float* a = s.a;
  float* c = s.c;
  for (int64_t tile = 1; tile <= s.tiles; ++tile, a += s.next_a, c += kRows * s.stride) {
    for (int64_t p = (tile - 1) * s.share; p < tile * s.share; ++p)
      hwy::Prefetch(s.soon + p * s.soon_row);
    const float* next = tile < s.tiles ? s.panel : s.next;
    if (s.columns < kPanelWidth)
      RunEdge<kRows, kAcross>(s, a, next, c);
    else
      Compute<kRows, kAcross>(s, a, next, s.add ? c : s.bias, s.add ? s.stride : 0, c, s.stride);
  }
}

using RunStrip = void (*)(const Strip&);
template <bool kAcross>
constexpr std::array<RunStrip, kTallest + 1> kRun = {
    nullptr,         Run<1, kAcross>, Run<2, kAcross>, Run<3, kAcross>,
    Run<4, kAcross>, Run<5, kAcross>, Run<6, kAcross>};

/// C (+)= A times `k` rows of panels. Rows of C go block by block, so that a block of A stays in the second
/// cache while all panels pass.
void MultiplyBlock(const Left& a, const Right& b, int64_t k, const MutableMatrix& c,
                   const float* bias, bool add) {
  for (int64_t block = 0; block < c.rows; block += kRowBlock) {
    const Tiles tiles(std::min(kRowBlock, c.rows - block));
    int64_t at = 0;
    for (Rows rows : a.transposed) {
      rows.data += block;
      PackLeft(rows, tiles, at, k, a.scratch);
      at += rows.count;
    }
    const float* left = a.scratch ? a.scratch : a.data + block * (a.across ? 1 : a.stride);
    auto place = [&](int64_t tile) {  // where it begins in the left operand
      return a.scratch  ? tiles.place(tile, k)
             : a.across ? tiles.begin(tile)
                        : tiles.begin(tile) * a.stride;
    };
    const int64_t share = b.soon ? k / tiles.count : 0;
    for (int64_t column = 0; column < c.columns; column += kPanelWidth) {
      const float* panel = b.data + column / kPanelWidth * b.panel;
      auto run = [&](int64_t first, int64_t count, int64_t rows) {
        if (count == 0) return;
        const Strip strip{.tiles = count,
                          .k = k,
                          .a = left + place(first),
                          .stride_a = a.scratch ? rows : a.stride,
                          .next_a = place(first + 1) - place(first),
                          .panel = panel,
                          .panel_row = b.row,
                          .next = panel + (first + count == tiles.count ? b.panel : 0),
                          .soon = b.soon + first * share * b.soon_row,
                          .soon_row = b.soon_row,
                          .share = share,
                          .c = c.data + (block + tiles.begin(first)) * c.stride + column,
                          .stride = c.stride,
                          .columns = std::min(kPanelWidth, c.columns - column),
                          .bias = bias ? bias + column : nullptr,
                          .add = add};
        (a.across ? kRun<true> : kRun<false>)[static_cast<size_t>(rows)](strip);
      };
      run(0, tiles.tall, tiles.low + 1);
      run(tiles.tall, tiles.count - tiles.tall, tiles.low);
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace lookback::panels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace lookback::panels {
HWY_EXPORT(Pack);
HWY_EXPORT(MultiplyBlock);

namespace {

constexpr int64_t kLongest =
    512;  // rows of B that pass at a time (KC): a panel of them fits the first cache
constexpr int64_t kWidest = 1024;  // columns of B that are laid out at a time (NC)

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
/// the cache: no more memory than that, and no stride of 1 KiB, which puts all on the same four sets of its 64.
bool lies_close(const Rows& a, int64_t k) {
  constexpr int64_t kBytes = 1 << 20, kFloat = sizeof(float);
  return k * a.stride * kFloat <= kBytes && a.stride * kFloat % 1024 != 0;
}

/// Whether panels of B, not transposed, may be read where it lies: a row of one is a line of the cache, and its
/// rows take half of the first cache at most (32 KiB in 64 sets of 8 lines) and none of them another's place.
/// They all pass at a time then. row_apart() makes strides of which that is true.
bool lies_in_panels(const MatrixView& b) {
  constexpr int64_t kLine = 64, kSets = 64, kWays = 8;
  const int64_t apart = b.stride * static_cast<int64_t>(sizeof(float));
  const int64_t places = kSets / std::gcd(apart / kLine, kSets) * kWays;
  return reinterpret_cast<uintptr_t>(b.data) % kLine == 0 && apart % kLine == 0 &&
         b.rows * 2 <= places;
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

/// C (+)= A B where all rows of A are one block and B is not transposed: B is read as it lies, or a panel of it is
/// laid out just before it is used, and not met again.
void multiply_one_block(LeftOperand left, const MatrixView& b, const MutableMatrix& c,
                        const GemmOptions& options) {
  const bool lies = lies_in_panels(b);
  Tensor packed({std::min(b.rows, kLongest) * kPanelWidth});
  over_depth(b.rows, [&](int64_t begin, int64_t count) {
    Left rows = left.block(begin, count);
    for (int64_t column = 0; column < c.columns; column += kPanelWidth) {
      const int64_t columns = std::min(kPanelWidth, c.columns - column);
      const float* from = b.data + begin * b.stride + column;
      Right panel{.data = packed.data(), .panel = 0, .soon_row = b.stride};
      if (column + kPanelWidth < c.columns) panel.soon = from + kPanelWidth;
      if (lies && columns == kPanelWidth) {
        panel.data = from;
        panel.row = b.stride;
      } else {
        HWY_DYNAMIC_DISPATCH(Pack)
        (row_block(b, begin, count), count, column, column + columns, 0, packed.data());
      }
      HWY_DYNAMIC_DISPATCH(MultiplyBlock)
      (rows, panel, count, {c.data + column, c.rows, columns, c.stride},
       begin == 0 && options.bias ? options.bias + column : nullptr,
       options.accumulate || begin > 0);
      rows.transposed = {};  // it has been laid out
    }
  });
}

/// C (+)= A B, where lay_out(begin, count, first, end, to) makes panels of rows [begin, begin + count) and
/// columns [first, end) of B.
template <class LayOut>
void multiply_on_the_way(LeftOperand left, int64_t k, const MutableMatrix& c,
                         const GemmOptions& options, LayOut&& lay_out) {
  Tensor packed({packed_count(std::min(k, kLongest), std::min(c.columns, kWidest))});
  for (int64_t first = 0; first < c.columns; first += kWidest) {
    MutableMatrix out = c;
    out.data += first;
    out.columns = std::min(kWidest, c.columns - first);
    over_depth(k, [&](int64_t begin, int64_t count) {
      lay_out(begin, count, first, first + out.columns, packed.data());
      HWY_DYNAMIC_DISPATCH(MultiplyBlock)
      (left.block(begin, count), {.data = packed.data(), .panel = count * kPanelWidth}, count, out,
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
  const int64_t k = row_count(b);
  HWY_DYNAMIC_DISPATCH(Pack)(b, k, begin, end, k * kPanelWidth, to + begin * k);
}

void multiply(const MatrixView& a, const Panels& packed, const MutableMatrix& c,
              const GemmOptions& options) {
  int64_t k = column_count(a);
  LeftOperand left(a, k);
  over_depth(k, [&](int64_t begin, int64_t count) {
    HWY_DYNAMIC_DISPATCH(MultiplyBlock)
    (left.block(begin, count),
     {.data = packed.data + begin * kPanelWidth, .panel = packed.depth * kPanelWidth}, count, c,
     begin == 0 ? options.bias : nullptr, options.accumulate || begin > 0);
  });
}

void multiply(const MatrixView& a, const MatrixView& b, const MutableMatrix& c,
              const GemmOptions& options) {
  int64_t k = column_count(a);
  // Fewer rows than these would wait for each panel's lines; for more it is worth while to copy all of B at once.
  if (c.rows > kRowBlock / 2 && c.rows <= kRowBlock && !b.transposed) {
    multiply_one_block(LeftOperand(a, k), b, c, options);
    return;
  }
  multiply_on_the_way(LeftOperand(a, k), k, c, options,
                      [&](int64_t begin, int64_t count, int64_t first, int64_t end, float* to) {
                        HWY_DYNAMIC_DISPATCH(Pack)
                        (row_block(b, begin, count), count, first, end, count * kPanelWidth, to);
                      });
}

void multiply_rows(std::span<const Rows> a, std::span<const Rows> b, const MutableMatrix& c,
                   const GemmOptions& options) {
  int64_t k = all_rows(a);
  multiply_on_the_way(
      LeftOperand(a, k), k, c, options,
      [&](int64_t begin, int64_t count, int64_t first, int64_t end, float* to) {
        for (const Rows& part : between(b, begin, count)) {
          const MatrixView rows{
              .data = part.data, .rows = part.count, .columns = end, .stride = part.stride};
          HWY_DYNAMIC_DISPATCH(Pack)
          (rows, part.count, first, end, count * kPanelWidth, to);
          to += part.count * kPanelWidth;
        }
      });
}

}  // namespace lookback::panels
#endif

#endif
