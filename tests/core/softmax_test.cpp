#include "core/kernels/softmax.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include "support/random_tensor.h"

namespace lookback {
namespace {

using testing::random_tensor;

constexpr Real kInf = std::numeric_limits<Real>::infinity();
constexpr Real kNaN = std::numeric_limits<Real>::quiet_NaN();

void expect_softmax(const std::vector<Real>& x, const uint8_t* allowed) {
  double largest = -INFINITY, sum = 0;
  for (size_t i = 0; i < x.size(); ++i)
    if (!allowed || allowed[i]) largest = std::max<double>(largest, x[i]);
  for (size_t i = 0; i < x.size(); ++i)
    if (!allowed || allowed[i]) sum += std::exp(x[i] - largest);
  std::vector<Real> y(x.size(), 9);
  kernels::softmax(x.data(), allowed, y.data(), static_cast<int64_t>(x.size()));
  double total = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    total += y[i];
    if (allowed && !allowed[i])
      EXPECT_EQ(y[i], 0) << i;
    else
      EXPECT_NEAR(y[i], std::exp(x[i] - largest) / sum, 1e-6) << i;
  }
  if (sum > 0) {
    EXPECT_NEAR(total, 1, 1e-6);
  }
  std::vector<Real> in_place = x;
  kernels::softmax(in_place.data(), allowed, in_place.data(), static_cast<int64_t>(x.size()));
  EXPECT_EQ(in_place, y);
}

TEST(Softmax, OfAnyLength) {
  for (int64_t length = 1; length < 40; ++length) {
    Tensor x = random_tensor({length}, 1, -20, 20);
    expect_softmax({x.data(), x.data() + length}, nullptr);
  }
  expect_softmax({1e30f, -1e30f, 1e30f}, nullptr);
  expect_softmax({-1e30f, -1e30f}, nullptr);
  expect_softmax({-kInf, 1, 2, -kInf}, nullptr);
}

TEST(Softmax, WhatTheMaskForbidsIsExactlyZeroAndNotRead) {
  std::vector<std::vector<uint8_t>> masks = {
      {1, 1, 1, 1, 1, 1, 1, 1, 1, 1}, {1, 1, 1, 1, 1, 1, 1, 1, 1, 0},
      {1, 0, 0, 0, 0, 0, 0, 0, 0, 0}, {0, 0, 0, 0, 0, 0, 0, 0, 0, 1},
      {0, 1, 0, 1, 0, 1, 0, 1, 1, 0}, {0, 0, 0, 0, 0, 0, 0, 0, 0, 0}};
  for (const auto& mask : masks) {
    Tensor scores = random_tensor({10}, 2, -5, 5);
    std::vector<Real> x(scores.data(), scores.data() + 10), poisoned = x, y(10), z(10);
    expect_softmax(x, mask.data());
    for (size_t i = 0; i < 10; ++i)
      if (!mask[i]) poisoned[i] = i % 2 ? kNaN : kInf;
    kernels::softmax(x.data(), mask.data(), y.data(), 10);
    kernels::softmax(poisoned.data(), mask.data(), z.data(), 10);
    EXPECT_EQ(y, z);
  }
}

TEST(Softmax, ANaNIsNotLost) {
  for (size_t at = 0; at < 11; ++at) {
    std::vector<Real> x(11, 1), y(11);
    x[at] = kNaN;
    kernels::softmax(x.data(), nullptr, y.data(), 11);
    EXPECT_TRUE(std::isnan(y[3])) << at;
    EXPECT_TRUE(std::isnan(kernels::log_sum_exp(x.data(), 11))) << at;
    std::vector<uint8_t> holes(11, 1);
    holes[at == 5 ? 6 : 5] = 0;
    kernels::softmax(x.data(), holes.data(), y.data(), 11);
    EXPECT_TRUE(std::isnan(y[3])) << at << " among holes";
    EXPECT_EQ(y[at == 5 ? 6 : 5], 0) << at << " reached a hole";
  }
}

TEST(LogSumExp, IsStableAtAnySize) {
  for (int64_t length = 1; length < 30; ++length)
    for (double shift : {-1000.0, -50.0, 0.0, 50.0, 1000.0}) {
      Tensor x = random_tensor({length}, 3, shift - 4, shift + 4);
      double sum = 0;
      for (Real v : x.values()) sum += std::exp(v - shift);
      EXPECT_NEAR(kernels::log_sum_exp(x.data(), length), shift + std::log(sum),
                  2e-6 * (2 + std::abs(shift)));
    }
}

TEST(ExpSum, IsExactDownToTheSmallestNumbersAndZeroBelow) {
  std::vector<Real> x;
  for (double v = 0; v > -86; v -= 0.0137) x.push_back(static_cast<Real>(v));
  const int64_t count = static_cast<int64_t>(x.size());
  std::vector<Real> y(x.size()), z(x.size());
  Real sum = kernels::exp_sum(x.data(), 1, 0, y.data(), count);
  kernels::scaled_exp(x.data(), 0, 1, z.data(), count);
  double exact = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    exact += std::exp(static_cast<double>(x[i]));
    for (Real got : {y[i], z[i]})
      ASSERT_NEAR(got, std::exp(x[i]), 3e-7 * std::exp(x[i])) << "e^" << x[i];
  }
  EXPECT_NEAR(sum, exact, 1e-5 * exact);
  for (Real far : {Real{-87.5}, Real{-88.1f}, Real{-104}, Real{-1000}, Real{-1e30f}, -kInf})
    for (int64_t length : {1, 7, 8, 19}) {
      std::vector<Real> same(19, far), terms(19, 9);
      kernels::exp_sum(same.data(), 1, 0, terms.data(), length);
      for (int64_t i = 0; i < length; ++i) EXPECT_EQ(terms[i], 0) << far;
    }
}

TEST(ExpSum, TooMuchIsNotTakenForANumber) {
  for (Real large :
       {Real{89}, Real{100}, Real{177.5}, Real{1000}, Real{1e10f}, Real{1e38f}, kInf}) {
    std::vector<Real> x(11, large), y(11, 0);
    EXPECT_FALSE(std::isfinite(kernels::exp_sum(x.data(), 1, 0, y.data(), 11))) << large;
  }
}

TEST(ScaledSoftmax, HoldsForScoresOfAnySize) {
  for (double size : {1e-3, 1.0, 1e3, 1e9, 1e10, 3e10, 1e30}) {
    Tensor x = random_tensor({37}, 5, -size, size), y = x.clone();
    const Real scale = Real{0.2236f};
    kernels::scaled_softmax(scale, y.data(), 37);
    double largest = -INFINITY, sum = 0;
    for (Real v : x.values()) largest = std::max<double>(largest, v);
    for (Real v : x.values()) sum += std::exp(scale * (v - largest));
    for (int64_t i = 0; i < 37; ++i)
      EXPECT_NEAR(y.data()[i], std::exp(scale * (x.data()[i] - largest)) / sum, 2e-6) << size;
  }
}

TEST(ExpSum, AnyNaNStaysOne) {
  for (uint32_t bits : {0x7fc00000u, 0xffc00000u, 0x7fc00001u, 0xffffffffu, 0x7fd55555u}) {
    std::vector<Real> x(11, static_cast<Real>(std::bit_cast<float>(bits))), y(11, 0);
    Real sum = kernels::exp_sum(x.data(), 1, 0, y.data(), 11);
    EXPECT_TRUE(std::isnan(sum)) << bits;
    for (Real got : y) EXPECT_TRUE(std::isnan(got)) << bits;
  }
}

TEST(ScaledExp, FollowsItsFormula) {
  Tensor x = random_tensor({21}, 4, -5, 5), y({21});
  kernels::scaled_exp(x.data(), 1.5, -2, y.data(), 21);
  for (int64_t i = 0; i < 21; ++i)
    EXPECT_NEAR(y.data()[i], -2 * std::exp(x.data()[i] - 1.5), 2e-6 * std::abs(y.data()[i]));
}

}  // namespace
}  // namespace lookback
