#include "autograd/node.h"
#include "autograd/ops.h"
#include "core/error.h"

namespace lookback {
namespace {

Variable scaled_sum(const char* op, const Variable& x, Real factor) {
  double total = 0;  // summed in double: a float loses digits over many elements
  for (Real value : x.value().values()) total += value;
  return GraphBuilder(op, {x}).result(
      Tensor::scalar(static_cast<Real>(total * factor)),
      [shape = x.shape(), factor](OutputGradients g, GradientSink& into) {
        into.add(0, Tensor::full(shape, g[0].item() * factor));
      });
}

}  // namespace

Variable sum(const Variable& x) {
  return scaled_sum("sum", x, 1);
}

Variable mean(const Variable& x) {
  if (x.count() == 0) fail("[mean] shape {} has no elements", x.shape().text());
  return scaled_sum("mean", x, Real{1} / static_cast<Real>(x.count()));
}

}  // namespace lookback
