#pragma once

#include "core/gemm.h"

namespace lookback {

// One product on the calling thread, sizes already checked and above zero. Only gemm() and gemm_rows()
// call these, tests and benchmarks aside.

/// By the kernel that suits the processor and the sizes; in the double build by plain loops.
void gemm_one_thread(const MatrixView& a, const MatrixView& b, const MutableMatrix& c,
                     const GemmOptions& options);
void gemm_onednn(const MatrixView& a, const MatrixView& b, const MutableMatrix& c,
                 const GemmOptions& options);
/// C (+)= A^T B of rows in several places.
void gemm_rows_one_thread(std::span<const Rows> a, std::span<const Rows> b, const MutableMatrix& c,
                          bool accumulate);
/// With the upper left part, as large as A and C ask, of a matrix that core/kernels/panels.h laid out.
void gemm_panels(const MatrixView& a, const Panels& b, const MutableMatrix& c,
                 const GemmOptions& options);

/// gemm_rows_one_thread() with one product a part.
inline void gemm_parts(std::span<const Rows> a, std::span<const Rows> b, const MutableMatrix& c,
                       bool accumulate) {
  for (size_t i = 0; i < a.size(); ++i) {
    if (a[i].count == 0) continue;
    gemm_one_thread({a[i].data, a[i].count, c.rows, a[i].stride, true},
                    {b[i].data, b[i].count, c.columns, b[i].stride}, c, {.accumulate = accumulate});
    accumulate = true;
  }
}

/// Numbers that the kernels want a (k, n) matrix laid out in; 0: they take it as it lies.
int64_t panels_count(int64_t k, int64_t n);
/// Lays out columns [begin, end), `begin` a multiple of kPanelWidth, of a matrix whose layout begins at
/// `to`.
void lay_out_panels(const MatrixView& b, int64_t begin, int64_t end, Real* to);

}  // namespace lookback
