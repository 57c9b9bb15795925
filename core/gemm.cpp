#include "core/gemm.h"

#include <algorithm>
#include <atomic>
#include <vector>

#include "core/error.h"
#include "core/gemm_backend.h"
#include "core/gemm_bf16.h"
#include "core/products.h"
#include "core/profile.h"
#include "core/threads.h"

namespace lookback {
namespace {

std::atomic<uint64_t> flops_done{0};

struct Sizes {
  int64_t m, n, k;
};

Sizes check(const MatrixView& a, const MatrixView& b, const MutableMatrix& c) {
  int64_t m = row_count(a), k = column_count(a), k_b = row_count(b), n = column_count(b);
  if (k != k_b)
    fail("[matmul] inner sizes differ: ({}, {}) x ({}, {}); {} must equal {}", m, k, k_b, n, k,
         k_b);
  if (c.rows != m || c.columns != n)
    fail("[matmul] the result of ({}, {}) x ({}, {}) is ({}, {}), not ({}, {})", m, k, k_b, n, m, n,
         c.rows, c.columns);
  return {m, n, k};
}

// Below this a second thread costs more than it brings (a team takes some microseconds to open).
constexpr double kSplitFlops = 4e6;
constexpr int64_t kBlocks = 8;

/// The matrix in panels; undefined where the kernels take it as it lies.
Tensor panels_of(const MatrixView& b) {
  int64_t k = row_count(b), n = column_count(b);
  int64_t count = panels_count(k, n);
  if (count == 0) return {};
  Tensor out({count});
  Real* to = out.data();
  parallel_for((n + kPanelWidth - 1) / kPanelWidth, 1 + (1 << 16) / (k * kPanelWidth),
               [&](int64_t begin, int64_t end) {
                 lay_out_panels(b, begin * kPanelWidth, std::min(end * kPanelWidth, n), to);
               });
  return out;
}

/// One product on this thread; `panels`, where there are any, begin at b's first column.
void one_thread(const MatrixView& a, const MatrixView& b, const Panels& panels,
                const MutableMatrix& c, const GemmOptions& options) {
  if (panels.data)
    gemm_panels(a, panels, c, options);
  else
    gemm_one_thread(a, b, c, options);
}

double flops_of(int64_t m, int64_t n, int64_t k) {
  return 2.0 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k);
}

void count_flops(int64_t m, int64_t n, int64_t k) {
  flops_done.fetch_add(static_cast<uint64_t>(flops_of(m, n, k)), std::memory_order_relaxed);
}

bool is_split(int64_t m, int64_t n, int64_t k) {
  return !detail::inside_parallel && flops_of(m, n, k) >= kSplitFlops && std::max(m, n) >= 64;
}

/// Calls body(by_rows, begin, count) for the blocks of rows or of columns that a product is cut into,
/// side by side.
template <class Body>
void over_blocks(int64_t m, int64_t n, int64_t k, Body&& body) {
  bool by_rows = m >= n;
  int64_t longest = std::max(m, n);
  if (!is_split(m, n, k)) {
    body(by_rows, int64_t{0}, longest);
    return;
  }
  // Blocks of a multiple of 16 rows or columns suit the kernels' tiles.
  int64_t width = (longest + kBlocks - 1) / kBlocks;
  width = (width + kPanelWidth - 1) / kPanelWidth * kPanelWidth;
  parallel_tasks((longest + width - 1) / width, [&](int64_t part) {
    body(by_rows, part * width, std::min(width, longest - part * width));
  });
}

/// Runs multiply(a, b, first column, c, options) for each block of the product.
template <class View, class Multiply>
void over_product(const View& a, const View& b, const MutableMatrix& c, const GemmOptions& options,
                  Multiply&& multiply) {
  int64_t k = column_count(a);
  over_blocks(c.rows, c.columns, k, [&](bool by_rows, int64_t begin, int64_t count) {
    MutableMatrix out = c;
    GemmOptions local = options;
    if (by_rows) {
      out.data += begin * c.stride;
      out.rows = count;
      multiply(row_block(a, begin, count), b, 0, out, local);
    } else {
      out.data += begin;
      out.columns = count;
      if (local.bias) local.bias += begin;
      multiply(a, column_block(b, begin, count), begin, out, local);
    }
  });
}

void multiply_floats(const MatrixView& a, const MatrixView& b, Panels panels,
                     const MutableMatrix& c, const GemmOptions& options) {
  int64_t k = column_count(a);
  Tensor own;
  if (!panels.data && c.rows >= c.columns && is_split(c.rows, c.columns, k)) {
    own = panels_of(b);  // every block of rows needs all of B: once is enough
    if (own.defined()) panels = {own.data(), k};
  }
  over_product(a, b, c, options,
               [&](const MatrixView& left, const MatrixView& right, int64_t column,
                   const MutableMatrix& out, const GemmOptions& local) {
                 Panels from = panels;
                 if (from.data) from.data += column * from.depth;
                 one_thread(left, right, from, out, local);
               });
}

void multiply_bf16(const Bf16View& a, const Bf16View& b, const MutableMatrix& c,
                   const GemmOptions& options) {
  over_product(a, b, c, options,
               [&](const Bf16View& left, const Bf16View& right, int64_t, const MutableMatrix& out,
                   const GemmOptions& local) { gemm_bf16_one_thread(left, right, out, local); });
}

RoundedMatrix::As rounded_as() {
  return products() == Products::kBf16 ? RoundedMatrix::As::kBf16 : RoundedMatrix::As::kFloat;
}

/// The product in the numbers that products() says; where `packed` is given, it is b.
void multiply(const MatrixView& a, const MatrixView& b, const PackedMatrix* packed,
              const MutableMatrix& c, const GemmOptions& options) {
  const Panels panels = packed ? packed->panels() : Panels{};
  if (products() == Products::kFloat) {
    multiply_floats(a, b, panels, c, options);
    return;
  }
  RoundedMatrix left(a, rounded_as()), own;
  if (!packed) own = RoundedMatrix(b, rounded_as());
  if (products() == Products::kBf16)
    multiply_bf16(left.bf16(), packed ? packed->part_of(packed->rounded()->bf16()) : own.bf16(), c,
                  options);
  else
    multiply_floats(left.floats(),
                    packed ? packed->part_of(packed->rounded()->floats()) : own.floats(), panels, c,
                    options);
}

/// Where nothing is multiplied, leaves the bias or zeros in C; says whether that was so.
bool done_without_product(const MutableMatrix& c, int64_t k, const GemmOptions& options) {
  if (c.rows == 0 || c.columns == 0) return true;
  if (k > 0) return false;
  for (int64_t i = 0; i < c.rows && !options.accumulate; ++i) {
    Real* row = c.data + i * c.stride;
    if (options.bias)
      std::copy_n(options.bias, c.columns, row);
    else
      std::fill_n(row, c.columns, Real{0});
  }
  return true;
}

void run(const MatrixView& a, const MatrixView& b, const PackedMatrix* packed,
         const MutableMatrix& c, const GemmOptions& options) {
  if (options.accumulate && options.bias)
    fail("[matmul] a bias cannot be added while accumulating");
  auto [m, n, k] = check(a, b, c);
  if (done_without_product(c, k, options)) return;
  count_flops(m, n, k);
  ProfileProduct timed(flops_of(m, n, k));
  multiply(a, b, packed, c, options);
}

}  // namespace

PackedMatrix::PackedMatrix(const MatrixView& b)
    : view_(b), made_for_(products()), depth_(row_count(b)) {
  if (products() != Products::kFloat)
    rounded_ = std::make_shared<const RoundedMatrix>(b, rounded_as());
  if (products() != Products::kBf16) panels_ = panels_of(rounded_ ? rounded_->floats() : b);
}

PackedMatrix PackedMatrix::part(int64_t row, int64_t column, int64_t rows, int64_t columns) const {
  int64_t k = row_count(view_), n = column_count(view_);
  if (row + rows > k || column + columns > n || column % kPanelWidth != 0)
    fail("[matmul] a packed matrix of {} x {} has no part of {} x {} from row {}, column {}", k, n,
         rows, columns, row, column);
  PackedMatrix out = *this;
  out.view_ = row_block(column_block(view_, column, columns), row, rows);
  out.row_ += row;
  out.column_ += column;
  return out;
}

Panels PackedMatrix::panels() const {
  if (!panels_.defined()) return {};
  return {panels_.data() + column_ * depth_ + row_ * kPanelWidth, depth_};
}

void gemm(const MatrixView& a, const MatrixView& b, const MutableMatrix& c,
          const GemmOptions& options) {
  run(a, b, nullptr, c, options);
}

void gemm(const MatrixView& a, const PackedMatrix& b, const MutableMatrix& c,
          const GemmOptions& options) {
  if (b.made_for() != products())
    fail("[matmul] the matrix was laid out for products of other numbers (core/products.h)");
  run(a, b.view(), &b, c, options);
}

void gemm_rows(std::span<const Rows> a, std::span<const Rows> b, const MutableMatrix& c,
               bool accumulate) {
  int64_t k = 0;
  if (a.size() != b.size()) fail("[matmul] {} parts of A, but {} of B", a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i) {
    if (a[i].count != b[i].count)
      fail("[matmul] part {} has {} rows of A, but {} of B", i, a[i].count, b[i].count);
    k += a[i].count;
  }
  const GemmOptions options{.accumulate = accumulate};
  if (done_without_product(c, k, options)) return;
  count_flops(c.rows, c.columns, k);
  ProfileProduct timed(flops_of(c.rows, c.columns, k));
  if (products() != Products::kFloat) {
    RoundedMatrix left(a, c.rows, rounded_as()), right(b, c.columns, rounded_as());
    if (products() == Products::kBf16) {
      Bf16View rows = left.bf16();
      rows.transposed = true;
      multiply_bf16(rows, right.bf16(), c, options);
    } else {
      multiply_floats(transposed(left.floats()), right.floats(), {}, c, options);
    }
    return;
  }
  over_blocks(c.rows, c.columns, k, [&](bool by_rows, int64_t begin, int64_t count) {
    MutableMatrix out = c;
    std::vector<Rows> left(a.begin(), a.end()), right(b.begin(), b.end());
    (by_rows ? out.rows : out.columns) = count;
    out.data += by_rows ? begin * c.stride : begin;
    for (Rows& part : by_rows ? left : right) part.data += begin;
    gemm_rows_one_thread(left, right, out, accumulate);
  });
}

uint64_t gemm_flops() {
  return flops_done.load(std::memory_order_relaxed);
}

}  // namespace lookback
