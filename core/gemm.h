#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "core/products.h"
#include "core/real.h"
#include "core/tensor.h"

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

/// Rows `stride` elements apart.
struct Rows {
  const Real* data;
  int64_t stride;
  int64_t count;
};

struct GemmOptions {
  bool accumulate = false;  ///< C += A B instead of C = A B
  const Real* bias =
      nullptr;  ///< one value a column, added to each row; not together with accumulate
};

/// Of what a matrix stands for, a MatrixView or one of other numbers: rows and columns.
template <class View>
int64_t row_count(const View& m) {
  return m.transposed ? m.columns : m.rows;
}
template <class View>
int64_t column_count(const View& m) {
  return m.transposed ? m.rows : m.columns;
}

/// Rows [begin, begin + count) of what it stands for, and columns.
template <class View>
View row_block(View a, int64_t begin, int64_t count) {
  if (a.transposed) {
    a.data += begin;
    a.columns = count;
  } else {
    a.data += begin * a.stride;
    a.rows = count;
  }
  return a;
}

template <class View>
View column_block(View b, int64_t begin, int64_t count) {
  b.transposed = !b.transposed;
  b = row_block(b, begin, count);
  b.transposed = !b.transposed;
  return b;
}

/// How far apart rows of `length` numbers should stand where they are ours to place: long ones an odd number of the
/// cache's lines (64 bytes). With an even number, and most of all with a power of two, a column of lines, one of
/// each row, falls on few places of the first cache, and they push each other out.
inline int64_t row_apart(int64_t length) {
  constexpr int64_t kLong = 256, kLine = 64 / sizeof(Real);
  return length < kLong ? length : ((length + kLine - 1) / kLine | 1) * kLine;
}

class RoundedMatrix;

/// Columns of a panel.
constexpr int64_t kPanelWidth = 16;

/// A matrix as core/kernels/panels.h lays it out, `depth` rows to a panel; `data` null: not laid out.
struct Panels {
  const Real* data = nullptr;
  int64_t depth = 0;
};

/// The right operand of many products, laid out once in the order in which their kernels read it: the
/// weights that every step of a sequence multiplies. The matrix behind the view, and products(), must
/// stay as they are for as long. Where the kernels take matrices only as they lie, nothing is copied.
class PackedMatrix {
 public:
  PackedMatrix() = default;
  explicit PackedMatrix(const MatrixView& b);

  bool empty() const { return view_.data == nullptr; }
  /// Rows [row, row + rows) and columns [column, column + columns) of the operand, which share its layout;
  /// column: a multiple of kPanelWidth.
  PackedMatrix part(int64_t row, int64_t column, int64_t rows, int64_t columns) const;

  // What gemm() multiplies.
  const MatrixView& view() const { return view_; }
  Products made_for() const { return made_for_; }
  /// The numbers that they are rounded to, as `whole` views all of them; null where products are of floats.
  const RoundedMatrix* rounded() const { return rounded_.get(); }
  template <class View>
  View part_of(const View& whole) const {
    return row_block(column_block(whole, column_, column_count(view_)), row_, row_count(view_));
  }
  Panels panels() const;

 private:
  MatrixView view_{};
  int64_t row_ = 0, column_ = 0;  // where it begins in the whole
  Products made_for_ = Products::kFloat;
  Tensor panels_;                                 // core/kernels/panels.h; undefined where not used
  int64_t depth_ = 0;                             // rows that the panels have
  std::shared_ptr<const RoundedMatrix> rounded_;  // where products() are not of floats
};

/// C = A B (+ bias), or C += A B: this and gemm_rows() are the matrix products of the library. On
/// processors with AVX-512 it runs on oneDNN's matmul, on those with AVX2 on panels of our own
/// (core/kernels/panels.h) but for products of few rows; in the double build it is a plain reference.
/// Throws when the sizes do not fit.
///
/// Operands are rounded to bf16 first where products() says so (core/products.h), and oneDNN multiplies
/// bf16 numbers.
///
/// Each kernel runs on one thread. A large product outside a parallel loop is cut into blocks of rows
/// or columns that depend on its sizes alone and run side by side, so the bits do not depend on the
/// number of threads.
void gemm(const MatrixView& a, const MatrixView& b, const MutableMatrix& c,
          const GemmOptions& options = {});
void gemm(const MatrixView& a, const PackedMatrix& b, const MutableMatrix& c,
          const GemmOptions& options = {});

/// C = A^T B or C += A^T B, where the rows of A, and those of B beside them, stand in several places: what
/// the steps of a sequence left, multiplied at once. Part i of A has as many rows as part i of B; a row of
/// A has c.rows elements, one of B c.columns.
void gemm_rows(std::span<const Rows> a, std::span<const Rows> b, const MutableMatrix& c,
               bool accumulate);

/// Of the library, "2.6.3"; empty in the double build.
std::string onednn_version();

/// Multiply-adds x 2 of all products since the program began, over all threads.
uint64_t gemm_flops();

}  // namespace lookback
