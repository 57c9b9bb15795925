// The elementwise kernels against the plain loop that they replace, at 65,536 elements, and the
// matrix product at the sizes of a training step. Run: ./dev bench

#include <benchmark/benchmark.h>

#include <cmath>
#include <vector>

#include "core/gemm.h"
#include "core/gemm_backend.h"
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

/// C = A B on one thread; A or B may be stored transposed, as the weights and gradients of a step are.
enum class Way { kGemm, kLaidOutBefore, kOneDnn };

template <Way way>
void product(benchmark::State& state) {
  int64_t m = state.range(0), n = state.range(1), k = state.range(2);
  bool transpose_a = state.range(3), transpose_b = state.range(4);
  set_threads(1);
  std::vector<Real> left(static_cast<size_t>(m * k), 1), right(static_cast<size_t>(n * k), 1),
      c(static_cast<size_t>(m * n));
  MatrixView a = transpose_a ? transposed(matrix(left.data(), k, m)) : matrix(left.data(), m, k);
  MatrixView b = transpose_b ? transposed(matrix(right.data(), n, k)) : matrix(right.data(), k, n);
  MutableMatrix out = mutable_matrix(c.data(), m, n);
  PackedMatrix packed(b);
  for (auto _ : state) {
    if (way == Way::kGemm) gemm(a, b, out);
    if (way == Way::kLaidOutBefore) gemm(a, packed, out);
    if (way == Way::kOneDnn) gemm_onednn(a, b, out, {});
  }
  state.counters["GFLOP/s"] = benchmark::Counter(2e-9 * static_cast<double>(m * n * k),
                                                 benchmark::Counter::kIsIterationInvariantRate);
}

void sizes(benchmark::internal::Benchmark* b) {
  b->ArgNames({"M", "N", "K", "A^T", "B^T"});
  b->Args({16, 384, 128, 0, 1});  // a step of the toy's cell
  b->Args({32, 768, 256, 0, 1});  // a GRU's step, and its backward
  b->Args({32, 256, 768, 0, 0});
  b->Args({32, 2048, 512, 0, 1});  // a large LSTM's
  b->Args({32, 512, 2048, 0, 0});
  b->Args({960, 768, 128, 0, 1});   // all input products of a sequence
  b->Args({960, 1000, 512, 0, 1});  // logits
  b->Args({768, 256, 32, 1, 0});    // a weight's gradient from one step,
  b->Args({768, 256, 960, 1, 0});   // and from all
  b->Args({1024, 256, 960, 1, 0});  // the same where rows are a power of two apart
  b->Args({64, 64, 64, 0, 1});      // a head's scores
  b->Args({1024, 1024, 1024, 0, 0});
}
BENCHMARK(product<Way::kGemm>)->Name("gemm")->Apply(sizes);
BENCHMARK(product<Way::kLaidOutBefore>)->Name("gemm/laid_out_before")->Apply(sizes);
BENCHMARK(product<Way::kOneDnn>)->Name("gemm/onednn")->Apply(sizes);

}  // namespace
}  // namespace lookback

BENCHMARK_MAIN();
