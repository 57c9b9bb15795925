#pragma once

#include <cstdint>

#include "core/real.h"

namespace lookback {

/// A matrix inside a buffer: `rows` x `columns` elements, rows `stride` elements apart. With
/// `transposed`, the product reads it as its transpose (columns x rows).
struct MatrixView {
  const Real* data;
  int64_t rows;
  int64_t columns;
  int64_t stride;
  bool transposed = false;
};

struct MutableMatrix {
  Real* data;
  int64_t rows;
  int64_t columns;
  int64_t stride;
};

inline MatrixView matrix(const Real* data, int64_t rows, int64_t columns) {
  return {.data = data, .rows = rows, .columns = columns, .stride = columns};
}
inline MatrixView transposed(MatrixView m) {
  m.transposed = !m.transposed;
  return m;
}
inline MutableMatrix mutable_matrix(Real* data, int64_t rows, int64_t columns) {
  return {.data = data, .rows = rows, .columns = columns, .stride = columns};
}

struct GemmOptions {
  bool accumulate = false;  ///< C += A B instead of C = A B
  const Real* bias =
      nullptr;  ///< one value a column, added to each row; not together with accumulate
};

/// C = A B (+ bias), or C += A B: the only matrix product of the library, on oneDNN's matmul (in
/// the double build: a plain reference). Throws when the sizes do not fit.
///
/// Each call to oneDNN runs on one thread. A large product outside a parallel loop is cut into
/// blocks of rows or columns that depend on its sizes alone and run side by side, so the bits do
/// not depend on the number of threads.
void gemm(const MatrixView& a, const MatrixView& b, const MutableMatrix& c,
          const GemmOptions& options = {});

/// Multiply-adds x 2 of all products since the program began, over all threads.
uint64_t gemm_flops();

}  // namespace lookback
