#include <cmath>

#include "autograd/node.h"
#include "autograd/ops.h"
#include "core/kernels/elementwise.h"
#include "core/threads.h"

namespace lookback {
namespace {

constexpr int64_t kGrain = 1 << 13;  // transcendental functions are worth a team sooner than sums

using Kernel = void (*)(const Real*, Real*, int64_t);

Tensor apply(Kernel kernel, const Tensor& x) {
  Tensor out(x.shape());
  parallel_for(x.count(), kGrain, [&](int64_t begin, int64_t end) {
    kernel(x.data() + begin, out.data() + begin, end - begin);
  });
  return out;
}

/// Where what becomes of a gradient, element by element, is written: in its place, if nobody else holds it.
Tensor room_for(const Tensor& gradient) {
  return gradient.unique() ? gradient : Tensor(gradient.shape());
}

/// out[i] = back(g[i], v[i]): the gradient times the slope at v, which is the op's input or its result,
/// whichever gives the slope.
template <class Back>
Tensor pass_back(const Tensor& gradient, const Tensor& v, Back&& back) {
  Tensor out = room_for(gradient);
  const Real *g = gradient.data(), *x = v.data();
  Real* y = out.data();
  parallel_for(v.count(), kGrain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) y[i] = back(g[i], x[i]);
  });
  return out;
}

template <class Back>
Variable pointwise(const char* op, const Variable& x, Tensor out, Tensor kept, Back back) {
  return GraphBuilder(op, {x}).result(
      std::move(out), [kept = std::move(kept), back](OutputGradients g, GradientSink& into) {
        into.add(0, pass_back(g[0], kept, back));
      });
}

}  // namespace

Variable tanh(const Variable& x) {
  Tensor y = apply(kernels::tanh, x.value());
  return pointwise("tanh", x, y, y, [](Real g, Real v) { return g * (1 - v * v); });
}

Variable sigmoid(const Variable& x) {
  Tensor y = apply(kernels::sigmoid, x.value());
  return pointwise("sigmoid", x, y, y, [](Real g, Real v) { return g * (v * (1 - v)); });
}

Variable relu(const Variable& x) {
  Tensor y = apply(kernels::relu, x.value());
  return GraphBuilder("relu", {x}).result(y, [y](OutputGradients g, GradientSink& into) {
    Tensor dx = room_for(g[0]);
    parallel_for(y.count(), kGrain, [&](int64_t begin, int64_t end) {
      kernels::relu_backward(y.data() + begin, g[0].data() + begin, dx.data() + begin, end - begin);
    });
    into.add(0, dx);
  });
}

Variable exp(const Variable& x) {
  Tensor y = apply(kernels::exp, x.value());
  return pointwise("exp", x, y, y, [](Real g, Real v) { return g * v; });
}

Variable log(const Variable& x) {
  Kernel kernel = [](const Real* in, Real* out, int64_t count) {
    for (int64_t i = 0; i < count; ++i) out[i] = std::log(in[i]);
  };
  return pointwise("log", x, apply(kernel, x.value()), x.value(),
                   [](Real g, Real v) { return g * (1 / v); });
}

Variable gelu(const Variable& x) {
  Tensor y = apply(kernels::gelu, x.value());
  return GraphBuilder("gelu", {x})
      .result(y, [x = x.value()](OutputGradients g, GradientSink& into) {
        Tensor dx = room_for(g[0]);
        parallel_for(x.count(), kGrain, [&](int64_t begin, int64_t end) {
          kernels::gelu_backward(x.data() + begin, g[0].data() + begin, dx.data() + begin,
                                 end - begin);
        });
        into.add(0, dx);
      });
}

}  // namespace lookback
