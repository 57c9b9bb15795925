#include "core/products.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "core/bf16.h"
#include "core/gemm.h"
#include "core/threads.h"
#include "support/error_text.h"
#include "support/random_tensor.h"

namespace lookback {
namespace {

using testing::error_text;
using testing::random_tensor;

TEST(Bf16, RoundsToTheNearestAndTiesToEven) {
  EXPECT_EQ(from_bf16(to_bf16(1.0f)), 1.0f);
  EXPECT_EQ(from_bf16(to_bf16(-3.5f)), -3.5f);
  // Between 1 and the next, 1 + 2^-7.
  EXPECT_EQ(from_bf16(to_bf16(1.0f + 0x1p-8f)), 1.0f) << "a tie goes to the even one, 1";
  EXPECT_EQ(from_bf16(to_bf16(1.0f + 0x1p-7f + 0x1p-8f)), 1.0f + 0x1p-6f) << "and here upwards";
  EXPECT_EQ(from_bf16(to_bf16(1.0f + 0x1p-8f + 0x1p-20f)), 1.0f + 0x1p-7f);
  EXPECT_EQ(from_bf16(to_bf16(1.0f + 0x1p-8f - 0x1p-20f)), 1.0f);
}

TEST(Bf16, KeepsWhatIsNoNumber) {
  const float infinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(from_bf16(to_bf16(infinity)), infinity);
  EXPECT_EQ(from_bf16(to_bf16(-infinity)), -infinity);
  EXPECT_EQ(from_bf16(to_bf16(std::numeric_limits<float>::max())), infinity);
  EXPECT_TRUE(std::isnan(from_bf16(to_bf16(std::nanf("")))));
  // A NaN whose mark stands in the lower half alone would become infinity.
  uint32_t bits = 0x7f800001u;
  float low;
  std::memcpy(&low, &bits, sizeof low);
  EXPECT_TRUE(std::isnan(from_bf16(to_bf16(low))));
  EXPECT_TRUE(std::signbit(from_bf16(to_bf16(-0.0f))));
}

#ifndef LOOKBACK_DOUBLE

Real rounded(Real x) {
  return from_bf16(to_bf16(x));
}

/// Every form of product, (m, k) x (k, n): what the operands rounded to bf16 give, added up in doubles.
void expect_rounded_products(Products numbers, int64_t m, int64_t n, int64_t k) {
  SCOPED_TRACE(::testing::Message() << m << " x " << n << " x " << k);
  Tensor a = random_tensor({m, k}, 1), b = random_tensor({k, n}, 2), bias = random_tensor({n}, 3);
  Tensor at({k, m});
  for (int64_t i = 0; i < m; ++i)
    for (int64_t l = 0; l < k; ++l) at.data()[l * m + i] = a.at({i, l});
  auto expect = [&](const Tensor &c, bool with_bias, double factor) {
    for (int64_t i = 0; i < m; ++i)
      for (int64_t j = 0; j < n; ++j) {
        double sum = with_bias ? bias.at({j}) : 0;
        for (int64_t l = 0; l < k; ++l)
          sum += factor * double{rounded(a.at({i, l}))} * double{rounded(b.at({l, j}))};
        ASSERT_NEAR(c.at({i, j}), sum, 1e-5 * std::sqrt(static_cast<double>(k)))
            << "element " << i << ", " << j;
      }
  };
  ProductsScope scope(numbers);
  Tensor c({m, n});
  MutableMatrix out = mutable_matrix(c.data(), m, n);
  const Tensor &left = a, &right = b, &left_rows = at;
  gemm(matrix(left.data(), m, k), matrix(right.data(), k, n), out, {.bias = bias.data()});
  expect(c, true, 1);
  gemm(transposed(matrix(left_rows.data(), k, m)), matrix(right.data(), k, n), out);
  expect(c, false, 1);
  gemm(matrix(left.data(), m, k), PackedMatrix(matrix(right.data(), k, n)), out,
       {.accumulate = true});
  expect(c, false, 2);
  // As a part of a larger packed matrix, from row 2 and column 16 on.
  Tensor larger = Tensor::full({k + 5, n + 19}, 7);
  for (int64_t l = 0; l < k; ++l)
    std::copy_n(right.data() + l * n, n, larger.data() + (l + 2) * (n + 19) + 16);
  gemm(matrix(left.data(), m, k),
       PackedMatrix(matrix(larger.data(), k + 5, n + 19)).part(2, 16, k, n), out);
  expect(c, false, 1);
  int64_t half = k / 2;
  std::vector<Rows> rows_a{{left_rows.data(), m, half}, {left_rows.data() + half * m, m, k - half}};
  std::vector<Rows> rows_b{{right.data(), n, half}, {right.data() + half * n, n, k - half}};
  gemm_rows(rows_a, rows_b, out, false);
  expect(c, false, 1);
}

TEST(Products, RoundedToBf16AreThoseOfTheRoundedNumbers) {
  for (auto [m, n, k] :
       {std::array<int64_t, 3>{1, 5, 7}, {3, 33, 40}, {40, 20, 100}, {130, 200, 90}})
    expect_rounded_products(Products::kBf16InFloat, m, n, k);
}

TEST(Products, InBf16AreThoseOfTheRoundedNumbers) {
  if (!bf16_products()) GTEST_SKIP() << "this processor has no products of bf16 numbers";
  for (auto [m, n, k] :
       {std::array<int64_t, 3>{1, 5, 7}, {3, 33, 40}, {40, 20, 100}, {130, 200, 90}})
    expect_rounded_products(Products::kBf16, m, n, k);
}

TEST(Products, GoWithTheWorkToOtherThreadsAndNoFurther) {
  int before = threads();
  set_threads(3);
  auto seen = [] {
    std::vector<Products> out(3);
    parallel_tasks(3, [&](int64_t i) { out[static_cast<size_t>(i)] = products(); });
    return out;
  };
  {
    ProductsScope scope(Products::kBf16InFloat);
    EXPECT_EQ(seen(), std::vector<Products>(3, Products::kBf16InFloat));
    {
      ProductsScope inner(Products::kFloat);
      EXPECT_EQ(seen(), std::vector<Products>(3, Products::kFloat));
    }
    EXPECT_EQ(products(), Products::kBf16InFloat);
  }
  EXPECT_EQ(products(), Products::kFloat);
  EXPECT_EQ(seen(), std::vector<Products>(3, Products::kFloat));
  set_threads(before);
}

TEST(Products, AMatrixLaidOutForOthersIsRefused) {
  Tensor a = random_tensor({9, 10}, 1), c({9, 10}), b = random_tensor({10, 10}, 2);
  const Tensor &left = a, &right = b;
  auto multiply = [&](Products made, Products used) {
    return error_text([&] {
      PackedMatrix packed;
      {
        ProductsScope scope(made);
        packed = PackedMatrix(matrix(right.data(), 10, 10));
      }
      ProductsScope scope(used);
      gemm(matrix(left.data(), 9, 10), packed, mutable_matrix(c.data(), 9, 10));
    });
  };
  std::string text =
      "[matmul] the matrix was laid out for products of other numbers (core/products.h)";
  EXPECT_EQ(multiply(Products::kFloat, Products::kBf16InFloat), text);
  EXPECT_EQ(multiply(Products::kBf16InFloat, Products::kFloat), text);
}

TEST(Products, AreRefusedWhereTheProcessorHasNone) {
  if (bf16_products()) GTEST_SKIP() << "this processor has them";
  EXPECT_EQ(error_text([] { ProductsScope scope(Products::kBf16); }),
            "[products] this processor does not multiply bf16 numbers");
}

#else

TEST(Products, AreOfDoublesInTheDoubleBuild) {
  EXPECT_EQ(error_text([] { ProductsScope scope(Products::kBf16InFloat); }),
            "[products] the double build multiplies doubles alone");
}

#endif

}  // namespace
}  // namespace lookback
