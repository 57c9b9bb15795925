#include "core/kernels/softmax.h"
#include "autograd/node.h"
#include "autograd/ops.h"
#include "core/error.h"
#include "core/kernels/vector.h"
#include "core/threads.h"

namespace lookback {
namespace {

int64_t row_grain(int64_t columns) {
  return std::max<int64_t>(1, (1 << 13) / std::max<int64_t>(columns, 1));
}

}  // namespace

Variable softmax(const Variable& x, const Mask& mask) {
  int64_t rows = x.shape().rows(), columns = x.shape().columns();
  if (mask.is_causal())
    fail("[softmax] a causal mask needs queries and keys; dot_product_attention takes one");
  if (mask.defined() && (mask.rows() != rows || mask.columns() != columns))
    fail("[softmax] mask ({}, {}) does not fit scores {}", mask.rows(), mask.columns(),
         x.shape().text());
  Tensor y(x.shape());
  parallel_for(rows, row_grain(columns), [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r)
      kernels::softmax(x.value().data() + r * columns, mask.defined() ? mask.row(r) : nullptr,
                       y.data() + r * columns, columns);
  });
  // dx_j = y_j (g_j - sum_k g_k y_k)
  return GraphBuilder("softmax", {x})
      .result(y, [y, rows, columns](OutputGradients g, GradientSink& into) {
        Tensor dx(y.shape());
        parallel_for(rows, row_grain(columns), [&](int64_t begin, int64_t end) {
          for (int64_t r = begin; r < end; ++r) {
            const Real *weight = y.data() + r * columns, *gradient = g[0].data() + r * columns;
            Real inner = kernels::dot(weight, gradient, columns);
            for (int64_t c = 0; c < columns; ++c)
              dx.data()[r * columns + c] = weight[c] * (gradient[c] - inner);
          }
        });
        into.add(0, dx);
      });
}

Variable log_softmax(const Variable& x) {
  int64_t rows = x.shape().rows(), columns = x.shape().columns();
  Tensor y(x.shape());
  parallel_for(rows, row_grain(columns), [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) {
      const Real* in = x.value().data() + r * columns;
      Real total = kernels::log_sum_exp(in, columns);
      for (int64_t c = 0; c < columns; ++c) y.data()[r * columns + c] = in[c] - total;
    }
  });
  // dx_j = g_j - e^(y_j) sum_k g_k
  return GraphBuilder("log_softmax", {x})
      .result(y, [y, rows, columns](OutputGradients g, GradientSink& into) {
        Tensor dx(y.shape());
        parallel_for(rows, row_grain(columns), [&](int64_t begin, int64_t end) {
          for (int64_t r = begin; r < end; ++r) {
            const Real* gradient = g[0].data() + r * columns;
            Real total = 0;
            for (int64_t c = 0; c < columns; ++c) total += gradient[c];
            Real* out = dx.data() + r * columns;
            kernels::scaled_exp(y.data() + r * columns, 0, -total, out, columns);
            for (int64_t c = 0; c < columns; ++c) out[c] += gradient[c];
          }
        });
        into.add(0, dx);
      });
}

}  // namespace lookback
