#include "core/gemm.h"

#include <algorithm>
#include <atomic>
#include <limits>

#include "core/error.h"
#include "core/gemm_backend.h"
#include "core/profile.h"
#include "core/threads.h"

namespace lookback {
namespace {

std::atomic<uint64_t> flops_done{0};

struct Sizes {
  int64_t m, n, k;
};

Sizes check(const MatrixView& a, const MatrixView& b, const MutableMatrix& c) {
  int64_t m = a.transposed ? a.columns : a.rows, k = a.transposed ? a.rows : a.columns;
  int64_t k_b = b.transposed ? b.columns : b.rows, n = b.transposed ? b.rows : b.columns;
  if (k != k_b)
    fail("[matmul] inner sizes differ: ({}, {}) x ({}, {}); {} must equal {}", m, k, k_b, n, k,
         k_b);
  if (c.rows != m || c.columns != n)
    fail("[matmul] the result of ({}, {}) x ({}, {}) is ({}, {}), not ({}, {})", m, k, k_b, n, m, n,
         c.rows, c.columns);
  return {m, n, k};
}

/// Row block [begin, begin + count) of what a matrix stands for.
MatrixView row_block(MatrixView a, int64_t begin, int64_t count) {
  if (a.transposed) {
    a.data += begin;
    a.columns = count;
  } else {
    a.data += begin * a.stride;
    a.rows = count;
  }
  return a;
}

MatrixView column_block(const MatrixView& b, int64_t begin, int64_t count) {
  return transposed(row_block(transposed(b), begin, count));
}

// Below this a second thread costs more than it brings (a team takes some microseconds to open).
constexpr double kSplitFlops = 4e6;
constexpr int64_t kBlocks = 8;

}  // namespace

void gemm(const MatrixView& a, const MatrixView& b, const MutableMatrix& c,
          const GemmOptions& options) {
  if (options.accumulate && options.bias)
    fail("[matmul] a bias cannot be added while accumulating");
  auto [m, n, k] = check(a, b, c);
  if (m == 0 || n == 0) return;
  double flops = 2.0 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k);
  flops_done.fetch_add(static_cast<uint64_t>(flops), std::memory_order_relaxed);
  ProfileProduct timed(flops);

  int64_t longest = std::max(m, n);
  if (detail::inside_parallel || flops < kSplitFlops || longest < 64) {
    gemm_one_thread(a, b, c, options);
    return;
  }
  // Blocks of a multiple of 16 rows or columns suit the kernels' tiles.
  int64_t width = (longest + kBlocks - 1) / kBlocks;
  width = (width + 15) / 16 * 16;
  bool by_rows = m >= n;
  parallel_tasks((longest + width - 1) / width, [&](int64_t part) {
    int64_t begin = part * width, count = std::min(width, longest - begin);
    MutableMatrix out = c;
    GemmOptions local = options;
    if (by_rows) {
      out.data += begin * c.stride;
      out.rows = count;
      gemm_one_thread(row_block(a, begin, count), b, out, local);
    } else {
      out.data += begin;
      out.columns = count;
      if (local.bias) local.bias += begin;
      gemm_one_thread(a, column_block(b, begin, count), out, local);
    }
  });
}

uint64_t gemm_flops() {
  return flops_done.load(std::memory_order_relaxed);
}

}  // namespace lookback
