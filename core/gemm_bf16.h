#pragma once

#include "core/bf16.h"
#include "core/gemm.h"

namespace lookback {

/// As MatrixView, of bf16 numbers.
struct Bf16View {
  const Bf16* data;
  int64_t rows;
  int64_t columns;
  int64_t stride;
  bool transposed = false;
};

/// A copy of a matrix whose numbers are rounded to bf16, row after row without gaps; as bf16 numbers or,
/// for products that only round, as floats.
class RoundedMatrix {
 public:
  enum class As { kBf16, kFloat };

  RoundedMatrix() = default;
  RoundedMatrix(const MatrixView& m, As as);
  /// Rows that stand in several places, one below the other.
  RoundedMatrix(std::span<const Rows> parts, int64_t columns, As as);

  MatrixView floats() const { return {data_.data(), rows_, columns_, columns_, transposed_}; }
  Bf16View bf16() const {
    return {reinterpret_cast<const Bf16*>(data_.data()), rows_, columns_, columns_, transposed_};
  }

 private:
  void round(const Rows& from, int64_t first, As as);

  Tensor data_;  // two bf16 numbers to a Real
  int64_t rows_ = 0, columns_ = 0;
  bool transposed_ = false;
};

/// A product of bf16 numbers on the calling thread, by oneDNN: sums and result are floats. Only gemm()
/// calls it, and only where bf16_products().
void gemm_bf16_one_thread(const Bf16View& a, const Bf16View& b, const MutableMatrix& c,
                          const GemmOptions& options);

}  // namespace lookback
