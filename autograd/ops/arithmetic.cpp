#include "autograd/broadcast.h"
#include "autograd/node.h"
#include "autograd/ops.h"
#include "core/threads.h"

namespace lookback {
namespace {

constexpr int64_t kGrain = 1 << 15;

template <class F>
Tensor combine(const char* op, const Tensor& a, const Tensor& b, F&& f) {
  if (a.shape() == b.shape()) {
    Tensor out(a.shape());
    const Real *x = a.data(), *y = b.data();
    Real* z = out.data();
    parallel_for(out.count(), kGrain, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) z[i] = f(x[i], y[i]);
    });
    return out;
  }
  Tensor out(broadcast(op, a.shape(), b.shape()));
  const Real *x = a.data(), *y = b.data();
  Real* z = out.data();
  for_broadcast(out.shape(), a.shape(), b.shape(),
                [&](int64_t i, int64_t at_a, int64_t at_b) { z[i] = f(x[at_a], y[at_b]); });
  return out;
}

Tensor scaled(const Tensor& a, Real factor) {
  Tensor out(a.shape());
  const Real* x = a.data();
  Real* y = out.data();
  parallel_for(out.count(), kGrain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) y[i] = factor * x[i];
  });
  return out;
}

Tensor product(const Tensor& a, const Tensor& b) {
  return combine("multiply", a, b, [](Real x, Real y) { return x * y; });
}

}  // namespace

Variable add(const Variable& a, const Variable& b) {
  Tensor out = combine("add", a.value(), b.value(), [](Real x, Real y) { return x + y; });
  return GraphBuilder("add", {a, b}).result(out, [](OutputGradients g, GradientSink& into) {
    into.add(0, g[0]);
    into.add(1, g[0]);
  });
}

Variable subtract(const Variable& a, const Variable& b) {
  Tensor out = combine("subtract", a.value(), b.value(), [](Real x, Real y) { return x - y; });
  return GraphBuilder("subtract", {a, b}).result(out, [](OutputGradients g, GradientSink& into) {
    into.add(0, g[0]);
    if (into.wants(1)) into.add(1, scaled(g[0], -1));
  });
}

Variable multiply(const Variable& a, const Variable& b) {
  Tensor out = product(a.value(), b.value());
  return GraphBuilder("multiply", {a, b})
      .result(out, [a = a.value(), b = b.value()](OutputGradients g, GradientSink& into) {
        if (into.wants(0)) into.add(0, product(g[0], b));
        if (into.wants(1)) into.add(1, product(g[0], a));
      });
}

Variable scale(const Variable& a, Real factor) {
  return GraphBuilder("scale", {a})
      .result(scaled(a.value(), factor), [factor](OutputGradients g, GradientSink& into) {
        into.add(0, scaled(g[0], factor));
      });
}

}  // namespace lookback
