#include "core/kernels/layer_norm.h"

#include <algorithm>

#include "autograd/broadcast.h"
#include "autograd/node.h"
#include "autograd/ops.h"
#include "core/error.h"
#include "core/threads.h"

namespace lookback {
namespace {

// Rows whose share of dweight and dbias is summed alone; the sums are added in order, so that no bit
// depends on the threads.
constexpr int64_t kRows = 64;

}  // namespace

Variable layer_norm(const Variable& x, const Variable& weight, const Variable& bias, double eps) {
  int64_t rows = x.shape().rows(), columns = x.shape().columns();
  for (const Variable* part : {&weight, &bias})
    if (part->defined() && part->shape() != Shape{columns})
      fail("[layer_norm] weight and bias must be ({}), the last size of {}, not {}", columns,
           x.shape().text(), part->shape().text());
  Tensor y(x.shape());
  std::vector<kernels::RowMoments> moments(static_cast<size_t>(rows));
  auto data = [](const Variable& v) { return v.defined() ? v.value().data() : nullptr; };
  int64_t grain = std::max<int64_t>(1, (1 << 13) / std::max<int64_t>(1, columns));
  parallel_for(rows, grain, [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r)
      moments[static_cast<size_t>(r)] =
          kernels::layer_norm(x.value().data() + r * columns, data(weight), data(bias),
                              static_cast<Real>(eps), y.data() + r * columns, columns);
  });
  std::vector<Variable> inputs{x};
  int at_weight = weight.defined() ? 1 : -1, at_bias = -1;
  if (weight.defined()) inputs.push_back(weight);
  if (bias.defined()) {
    at_bias = static_cast<int>(inputs.size());
    inputs.push_back(bias);
  }
  auto backward = [=, x = x.value(), weight = weight.defined() ? weight.value() : Tensor(),
                   moments = std::move(moments)](OutputGradients g, GradientSink& into) {
    bool of_weight = at_weight > 0 && into.wants(at_weight),
         of_bias = at_bias > 0 && into.wants(at_bias);
    int64_t parts = (rows + kRows - 1) / kRows;
    Tensor dx(x.shape()), dweight, dbias;
    if (of_weight) dweight = Tensor::zeros({parts, columns});
    if (of_bias) dbias = Tensor::zeros({parts, columns});
    parallel_for(parts, std::max<int64_t>(1, grain / kRows), [&](int64_t begin, int64_t end) {
      for (int64_t part = begin; part < end; ++part)
        for (int64_t r = part * kRows; r < std::min(rows, (part + 1) * kRows); ++r)
          kernels::layer_norm_backward(x.data() + r * columns, g[0].data() + r * columns,
                                       weight.defined() ? weight.data() : nullptr,
                                       moments[static_cast<size_t>(r)], dx.data() + r * columns,
                                       of_weight ? dweight.data() + part * columns : nullptr,
                                       of_bias ? dbias.data() + part * columns : nullptr, columns);
    });
    into.add(0, dx);
    if (of_weight)
      add_column_sums(dweight.data(), parts, columns, into.accumulated(at_weight).data());
    if (of_bias) add_column_sums(dbias.data(), parts, columns, into.accumulated(at_bias).data());
  };
  return GraphBuilder("layer_norm", std::move(inputs)).result(y, std::move(backward));
}

}  // namespace lookback
