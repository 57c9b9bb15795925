#pragma once

#include "core/tensor.h"

namespace lookback {

/// to += from, shapes equal; a buffer that somebody else holds too stays as it is, and `to` gets its own.
void add_into(Tensor& to, const Tensor& from);

/// sums[c] += the sum of column c of a (rows, columns) matrix; the order of the sum is fixed.
void add_column_sums(const Real* in, int64_t rows, int64_t columns, Real* sums);

/// Sums a gradient over the dimensions in which an input of shape `shape` was broadcast. Throws,
/// naming op and input, when `gradient` is not of a shape that `shape` broadcasts to.
Tensor sum_to(const char* op, int input, const Tensor& gradient, const Shape& shape);

/// For each output element in row-major order, calls f(output index, a index, b index), where a and
/// b are broadcast to `out`. The innermost dimension is run as one loop.
template <class F>
void for_broadcast(const Shape& out, const Shape& a, const Shape& b, F&& f) {
  int rank = out.rank();
  int64_t stride_a[Shape::kMaxRank] = {}, stride_b[Shape::kMaxRank] = {},
          index[Shape::kMaxRank] = {};
  auto strides = [&](const Shape& shape, int64_t* stride) {
    int64_t step = 1;
    for (int i = shape.rank() - 1; i >= 0; --i) {
      int at = i + rank - shape.rank();
      stride[at] = shape[i] == 1 ? 0 : step;
      step *= shape[i];
    }
  };
  strides(a, stride_a);
  strides(b, stride_b);
  int64_t count = out.count(), offset_a = 0, offset_b = 0;
  int64_t inner = rank ? out[rank - 1] : 1;
  int64_t inner_a = rank ? stride_a[rank - 1] : 0, inner_b = rank ? stride_b[rank - 1] : 0;
  for (int64_t i = 0; i < count; i += inner) {
    for (int64_t j = 0; j < inner; ++j) f(i + j, offset_a + j * inner_a, offset_b + j * inner_b);
    for (int dim = rank - 2; dim >= 0; --dim) {
      offset_a += stride_a[dim];
      offset_b += stride_b[dim];
      if (++index[dim] < out[dim]) break;
      offset_a -= stride_a[dim] * out[dim];
      offset_b -= stride_b[dim] * out[dim];
      index[dim] = 0;
    }
  }
}

}  // namespace lookback
