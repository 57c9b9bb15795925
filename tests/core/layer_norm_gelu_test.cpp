#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "autograd/ops.h"
#include "core/kernels/elementwise.h"
#include "core/kernels/layer_norm.h"
#include "core/threads.h"
#include "support/random_tensor.h"

namespace lookback {
namespace {

using testing::random_tensor;

constexpr Real kNaN = std::numeric_limits<Real>::quiet_NaN();

double share_below(double x) {
  return std::erfc(-x / std::sqrt(2.0)) / 2;
}
double exact_gelu(double x) {
  return x * share_below(x);
}
double exact_slope(double x) {
  return share_below(x) + x * std::exp(-x * x / 2) / std::sqrt(2 * std::acos(-1.0));
}

TEST(Gelu, IsExactToAMillionthWithItsSlope) {
  std::vector<Real> x;
  for (double v = -30; v <= 30; v += 0.00371) x.push_back(static_cast<Real>(v));
  for (double v = 1e-30; v < 1; v *= 1.9) {
    x.push_back(static_cast<Real>(v));
    x.push_back(static_cast<Real>(-v));
  }
  int64_t count = static_cast<int64_t>(x.size());
  std::vector<Real> y(x.size()), g(x.size(), 1), dx(x.size());
  kernels::gelu(x.data(), y.data(), count);
  kernels::gelu_backward(x.data(), g.data(), dx.data(), count);
  for (size_t i = 0; i < x.size(); ++i) {
    double size = std::max(1.0, std::abs(static_cast<double>(x[i])));
    ASSERT_NEAR(dx[i], exact_slope(x[i]), 1e-6) << x[i];
    double small = std::abs(x[i]) < 1e-3 ? std::abs(x[i]) : size;
    ASSERT_NEAR(y[i], exact_gelu(x[i]), 5e-7 * small) << x[i];
  }
}

TEST(Gelu, SaturatesAndKeepsNaN) {
  for (auto [value, result, slope] :
       {std::array<Real, 3>{Real(1e30f), Real(1e30f), 1}, std::array<Real, 3>{Real(-1e30f), 0, 0},
        std::array<Real, 3>{0, 0, Real(0.5)}}) {
    std::vector<Real> x(19, value), y(19), g(19, 1), dx(19);
    kernels::gelu(x.data(), y.data(), 19);
    kernels::gelu_backward(x.data(), g.data(), dx.data(), 19);
    for (size_t i = 0; i < 19; ++i) {
      EXPECT_EQ(y[i], result) << value;
      EXPECT_NEAR(dx[i], slope, 1e-6) << value;
    }
  }
  std::vector<Real> x(19, kNaN), y(19, 0), g(19, 1), dx(19, 0);
  kernels::gelu(x.data(), y.data(), 19);
  kernels::gelu_backward(x.data(), g.data(), dx.data(), 19);
  for (size_t i = 0; i < 19; ++i) EXPECT_TRUE(std::isnan(y[i]) && std::isnan(dx[i])) << i;
}

TEST(LayerNormKernel, FollowsItsFormulaForwardAndBackward) {
  for (int64_t n : {1, 5, 8, 31})
    for (bool affine : {true, false}) {
      // Far from zero, where the difference of two large sums would lose the variance.
      Tensor x = random_tensor({n}, 1, 99, 101), w = random_tensor({n}, 2),
             b = random_tensor({n}, 3), dy = random_tensor({n}, 4), y({n}), dx({n});
      const Real eps = Real(1e-5f);
      kernels::RowMoments moments = kernels::layer_norm(
          x.data(), affine ? w.data() : nullptr, affine ? b.data() : nullptr, eps, y.data(), n);
      std::vector<double> u, normal;
      double mean = 0, variance = 0, mean_u = 0, along = 0, count = static_cast<double>(n);
      for (Real v : x.values()) mean += v / count;
      for (Real v : x.values()) variance += (v - mean) * (v - mean) / count;
      double deviation = std::sqrt(variance + eps);
      for (int64_t i = 0; i < n; ++i) {
        normal.push_back((x.at({i}) - mean) / deviation);
        u.push_back(dy.at({i}) * (affine ? double{w.at({i})} : 1.0));
        mean_u += u.back() / count;
        along += u.back() * normal.back() / count;
      }
      Tensor dw = Tensor::full({n}, 2), db = Tensor::full({n}, 3);
      kernels::layer_norm_backward(x.data(), dy.data(), affine ? w.data() : nullptr, moments,
                                   dx.data(), dw.data(), db.data(), n);
      for (int64_t i = 0; i < n; ++i) {
        size_t at = static_cast<size_t>(i);
        double scaled = affine ? normal[at] * w.at({i}) + b.at({i}) : normal[at];
        EXPECT_NEAR(y.at({i}), scaled, 1e-4) << n;
        // With one element the row is constant, and its inverse deviation sqrt(1 / eps).
        EXPECT_NEAR(dx.at({i}), (u[at] - mean_u - normal[at] * along) / deviation, 3e-4) << n;
        EXPECT_NEAR(dw.at({i}), 2 + dy.at({i}) * normal[at], 1e-4);
        EXPECT_NEAR(db.at({i}), 3 + dy.at({i}), 1e-6);
      }
    }
}

TEST(LayerNormOp, BitsDoNotDependOnTheNumberOfThreads) {
  int before = threads();
  Variable x(random_tensor({40, 11, 96}, 1), true), w(random_tensor({96}, 2), true),
      b(random_tensor({96}, 3), true), mixed(random_tensor({40, 11, 96}, 4));
  std::vector<std::vector<Real>> results;
  for (int team : {1, 2, 5}) {
    set_threads(team);
    Gradients gradients = backward(sum(layer_norm(x, w, b, 1e-5) * mixed));
    std::vector<Real> all;
    for (const Variable& v : {x, w, b}) {
      Tensor g = gradients.of(v);
      all.insert(all.end(), g.values().begin(), g.values().end());
    }
    results.push_back(all);
  }
  set_threads(before);
  EXPECT_EQ(results[0], results[1]);
  EXPECT_EQ(results[0], results[2]);
}

TEST(DropoutOp, DrawsAndGradientDoNotDependOnTheNumberOfThreads) {
  int before = threads();
  Variable x(random_tensor({37, 40, 96}, 1), true);
  std::vector<std::vector<Real>> results;
  for (int team : {1, 2, 5}) {
    set_threads(team);
    Variable y = dropout(x, 0.3, {.seed = 2});
    Tensor g = backward(sum(y * y)).of(x);
    std::vector<Real> all(y.value().values().begin(), y.value().values().end());
    all.insert(all.end(), g.values().begin(), g.values().end());
    results.push_back(all);
  }
  set_threads(before);
  EXPECT_EQ(results[0], results[1]);
  EXPECT_EQ(results[0], results[2]);
}

}  // namespace
}  // namespace lookback
