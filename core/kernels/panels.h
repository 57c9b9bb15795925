#pragma once

#include "core/gemm_backend.h"

/// Products of our own, for processors on which oneDNN has no kernel for packed weights (AVX2
/// without AVX-512; docs/performance.md has the figures). As in Goto and van de Geijn (2008),
/// "Anatomy of high-performance matrix multiplication": the right operand is laid out in panels of 16
/// columns (the last one filled up with zeros), row after row, so that the innermost loop reads memory
/// in order whatever the operand's stride was; six rows by sixteen columns of the result (their MR
/// and NR) stay in registers. A right operand that is not packed yet is packed on the way, for one product, or read
/// where it lies if that is as good.
namespace lookback::panels {

/// Whether the panels are the faster way on this processor.
bool suit_processor();

/// Numbers that a packed (k, n) matrix takes.
constexpr int64_t packed_count(int64_t k, int64_t n) {
  return k * ((n + kPanelWidth - 1) / kPanelWidth * kPanelWidth);
}

/// Lays out columns [begin, end) of b, `begin` at a panel's first; `to` is the start of the whole
/// packed matrix, aligned to 32 bytes.
void pack(const MatrixView& b, int64_t begin, int64_t end, Real* to);

/// C = A B (+ bias) or C += A B with the upper left part, as large as A and C ask, of a packed matrix.
void multiply(const MatrixView& a, const Panels& packed, const MutableMatrix& c,
              const GemmOptions& options);

/// The same with a matrix that is not packed.
void multiply(const MatrixView& a, const MatrixView& b, const MutableMatrix& c,
              const GemmOptions& options);

/// C = A^T B or C += A^T B, the rows of A and of B standing one below the other in these parts.
void multiply_rows(std::span<const Rows> a, std::span<const Rows> b, const MutableMatrix& c,
                   const GemmOptions& options);

}  // namespace lookback::panels
