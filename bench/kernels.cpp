// The elementwise kernels against the plain loop that they replace, at 65,536 elements, and the
// matrix product at the sizes of a training step. Run: ./dev bench

#include <benchmark/benchmark.h>

#include <cmath>
#include <vector>

#include "core/gemm.h"
#include "core/kernels/elementwise.h"
#include "core/threads.h"

namespace lookback {
namespace {

constexpr int64_t kCount = 65536;

std::vector<Real> inputs() {
  std::vector<Real> x(kCount);
  for (int64_t i = 0; i < kCount; ++i)
    x[static_cast<size_t>(i)] = static_cast<Real>(8 * std::sin(0.37 * i));
  return x;
}

template <void (*Kernel)(const Real*, Real*, int64_t)>
void kernel(benchmark::State& state) {
  std::vector<Real> x = inputs(), y(kCount);
  for (auto _ : state) {
    Kernel(x.data(), y.data(), kCount);
    benchmark::ClobberMemory();
  }
  state.SetItemsProcessed(state.iterations() * kCount);
}

template <Real (*F)(Real)>
void loop(const Real* x, Real* y, int64_t count) {
  for (int64_t i = 0; i < count; ++i) y[i] = F(x[i]);
}

Real plain_tanh(Real x) {
  return std::tanh(x);
}
Real plain_exp(Real x) {
  return std::exp(x);
}
Real plain_sigmoid(Real x) {
  return 1 / (1 + std::exp(-x));
}

BENCHMARK(kernel<kernels::tanh>)->Name("tanh/kernel");
BENCHMARK(kernel<loop<plain_tanh>>)->Name("tanh/plain_loop");
BENCHMARK(kernel<kernels::sigmoid>)->Name("sigmoid/kernel");
BENCHMARK(kernel<loop<plain_sigmoid>>)->Name("sigmoid/plain_loop");
BENCHMARK(kernel<kernels::exp>)->Name("exp/kernel");
BENCHMARK(kernel<loop<plain_exp>>)->Name("exp/plain_loop");

/// x W^T on one thread: (M, K) x (N, K)^T, as in a step of a recurrent layer.
void product(benchmark::State& state) {
  int64_t m = state.range(0), n = state.range(1), k = state.range(2);
  set_threads(1);
  std::vector<Real> a(static_cast<size_t>(m * k), 1), b(static_cast<size_t>(n * k), 1),
      c(static_cast<size_t>(m * n));
  for (auto _ : state)
    gemm(matrix(a.data(), m, k), transposed(matrix(b.data(), n, k)),
         mutable_matrix(c.data(), m, n));
  state.counters["GFLOP/s"] = benchmark::Counter(2e-9 * static_cast<double>(m * n * k),
                                                 benchmark::Counter::kIsIterationInvariantRate);
}
BENCHMARK(product)
    ->Name("gemm")
    ->Args({16, 384, 128})
    ->Args({32, 768, 256})
    ->Args({960, 768, 256})
    ->Args({960, 1000, 512});

}  // namespace
}  // namespace lookback

BENCHMARK_MAIN();
