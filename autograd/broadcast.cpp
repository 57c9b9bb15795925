#include "autograd/broadcast.h"

#include <algorithm>
#include <utility>

#include "core/error.h"
#include "core/threads.h"

namespace lookback {
namespace {

bool broadcasts_to(const Shape& from, const Shape& to) {
  if (from.rank() > to.rank()) return false;
  for (int i = 1; i <= from.rank(); ++i)
    if (from[-i] != to[-i] && from[-i] != 1) return false;
  return true;
}

/// Whether `shape` is the tail of `whole`, as a bias (D) is of (B, S, D): then whole rows are
/// summed.
bool is_tail(const Shape& shape, const Shape& whole) {
  if (shape.rank() > whole.rank()) return false;
  for (int i = 1; i <= shape.rank(); ++i)
    if (shape[-i] != whole[-i]) return false;
  return true;
}

}  // namespace

void add_into(Tensor& to, const Tensor& from) {
  if (to.shape() != from.shape())
    fail("[gradient] shapes {} and {} cannot be added", to.shape().text(), from.shape().text());
  Tensor sum = to.unique() ? to : Tensor(to.shape());
  Real* out = sum.data();
  const Real *x = std::as_const(to).data(), *y = from.data();
  parallel_for(sum.count(), 1 << 15, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) out[i] = x[i] + y[i];
  });
  to = std::move(sum);
}

void add_column_sums(const Real* in, int64_t rows, int64_t columns, Real* sums) {
  int64_t grain = std::max<int64_t>(32, (1 << 15) / std::max<int64_t>(rows, 1));
  parallel_for(columns, grain, [&](int64_t begin, int64_t end) {
    for (int64_t r = 0; r < rows; ++r)
      for (int64_t c = begin; c < end; ++c) sums[c] += in[r * columns + c];
  });
}

Tensor sum_to(const char* op, int input, const Tensor& gradient, const Shape& shape) {
  if (!broadcasts_to(shape, gradient.shape()))
    fail("[{}] the gradient of input {} has shape {}, the input {}", op, input,
         gradient.shape().text(), shape.text());
  Tensor out = Tensor::zeros(shape);
  const Real* in = gradient.data();
  Real* sum = out.data();
  if (is_tail(shape, gradient.shape())) {
    int64_t columns = shape.count(), rows = columns ? gradient.count() / columns : 0;
    add_column_sums(in, rows, columns, sum);
    return out;
  }
  for_broadcast(gradient.shape(), shape, shape,
                [&](int64_t i, int64_t to, int64_t) { sum[to] += in[i]; });
  return out;
}

}  // namespace lookback
