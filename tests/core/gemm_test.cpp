#include "core/gemm.h"

#include <gtest/gtest.h>

#include <cmath>
#include <thread>
#include <vector>

#include "core/threads.h"
#include "support/error_text.h"
#include "support/random_tensor.h"
#include "support/stored_matrix.h"

namespace lookback {
namespace {

using testing::error_text;
using testing::random_tensor;
using testing::StoredMatrix;

struct Case {
  int64_t m, n, k;
  bool transpose_a = false, transpose_b = false, bias = false, accumulate = false;
  int64_t gap = 0;
};

void expect_product(const Case& p) {
  SCOPED_TRACE(::testing::Message()
               << p.m << " x " << p.n << " x " << p.k << (p.transpose_a ? " ta" : "")
               << (p.transpose_b ? " tb" : "") << (p.bias ? " bias" : "")
               << (p.accumulate ? " accumulate" : "") << " gap " << p.gap);
  StoredMatrix a(p.m, p.k, p.transpose_a, p.gap, 1), b(p.k, p.n, p.transpose_b, 2 * p.gap, 2);
  Tensor bias = random_tensor({p.n}, 3);
  int64_t stride = p.n + 3 * p.gap;
  Tensor c = random_tensor({p.m, stride}, 4), before = c.clone();
  gemm(a.view, b.view, {.data = c.data(), .rows = p.m, .columns = p.n, .stride = stride},
       {.accumulate = p.accumulate, .bias = p.bias ? bias.data() : nullptr});
  double tolerance = 4e-7 * (1 + static_cast<double>(p.k));
  for (int64_t i = 0; i < p.m; ++i) {
    for (int64_t j = 0; j < p.n; ++j) {
      double sum = p.bias ? bias.at({j}) : p.accumulate ? before.at({i, j}) : 0;
      for (int64_t l = 0; l < p.k; ++l) sum += a.at(i, l) * b.at(l, j);
      ASSERT_NEAR(c.at({i, j}), sum, tolerance) << "element " << i << ", " << j;
    }
    for (int64_t j = p.n; j < stride; ++j)
      ASSERT_EQ(c.at({i, j}), before.at({i, j})) << "wrote past row " << i;
  }
}

TEST(Gemm, EqualsAPlainLoop) {
  for (int64_t m : {1, 2, 3, 17})
    for (int64_t n : {1, 2, 5, 33})
      for (int64_t k : {0, 1, 3, 31})
        for (int flags = 0; flags < 16; ++flags) {
          Case p{m, n, k, (flags & 1) != 0, (flags & 2) != 0, (flags & 4) != 0, (flags & 8) != 0};
          if (p.bias && p.accumulate) continue;
          for (int64_t gap : {0, 2}) {
            p.gap = gap;
            expect_product(p);
            if (HasFatalFailure()) return;
          }
        }
}

TEST(Gemm, EqualsAPlainLoopWhereItIsCutIntoBlocks) {
  // Above 4 million operations the longer side is cut; sizes that leave a short last block.
  for (bool ta : {false, true})
    for (bool tb : {false, true})
      for (bool bias : {false, true}) {
        expect_product({.m = 263,
                        .n = 67,
                        .k = 129,
                        .transpose_a = ta,
                        .transpose_b = tb,
                        .bias = bias,
                        .accumulate = !bias,
                        .gap = 1});
        expect_product({.m = 65,
                        .n = 301,
                        .k = 120,
                        .transpose_a = ta,
                        .transpose_b = tb,
                        .bias = bias,
                        .accumulate = !bias,
                        .gap = 1});
      }
}

TEST(Gemm, TakesPartsOfAPackedMatrix) {
  const int64_t depth = 700, width = 70;
  for (bool transposed_storage : {false, true}) {
    StoredMatrix b(depth, width, transposed_storage, 1, 2);
    PackedMatrix packed(b.view);
    for (int64_t row : {0, 3})
      for (int64_t column : {0, 32})
        for (int64_t m : {1, 13})
          for (int64_t k : {int64_t{0}, int64_t{1}, int64_t{520}, depth - row})
            for (int64_t n : {int64_t{1}, int64_t{16}, int64_t{35}, width - column}) {
              SCOPED_TRACE(::testing::Message() << m << " x " << n << " x " << k << " from row "
                                                << row << ", column " << column);
              StoredMatrix a(m, k, false, 0, 1);
              Tensor c({m, n});
              // A part of a part is counted from its own beginning.
              PackedMatrix part =
                  packed.part(row, column, depth - row, width - column).part(0, 0, k, n);
              gemm(a.view, part, mutable_matrix(c.data(), m, n));
              for (int64_t i = 0; i < m; ++i)
                for (int64_t j = 0; j < n; ++j) {
                  double sum = 0;
                  for (int64_t l = 0; l < k; ++l) sum += a.at(i, l) * b.at(row + l, column + j);
                  ASSERT_NEAR(c.at({i, j}), sum, 1e-4) << "element " << i << ", " << j;
                }
            }
  }
  const Tensor b = random_tensor({3, 40}, 1);
  PackedMatrix packed(matrix(b.data(), 3, 40));
  auto refusal = [&](int64_t row, int64_t column, int64_t rows, int64_t columns) {
    return error_text([&] { packed.part(row, column, rows, columns); });
  };
  EXPECT_EQ(refusal(0, 0, 4, 40),
            "[matmul] a packed matrix of 3 x 40 has no part of 4 x 40 from row 0, column 0");
  EXPECT_EQ(refusal(1, 0, 2, 41),
            "[matmul] a packed matrix of 3 x 40 has no part of 2 x 41 from row 1, column 0");
  EXPECT_EQ(refusal(0, 8, 3, 16),
            "[matmul] a packed matrix of 3 x 40 has no part of 3 x 16 from row 0, column 8");
}

TEST(Gemm, AnEmptyResultIsNoError) {
  expect_product({.m = 0, .n = 3, .k = 2});
  expect_product({.m = 3, .n = 0, .k = 2});
}

TEST(Gemm, BitsDoNotDependOnTheNumberOfThreads) {
  int before = threads();
  for (Case p : {Case{300, 70, 150}, Case{70, 300, 150}, Case{1, 3000, 800}, Case{513, 64, 256}}) {
    StoredMatrix a(p.m, p.k, false, 0, 1), b(p.k, p.n, true, 0, 2);
    std::vector<Tensor> results;
    for (int team : {1, 2, 5, 2}) {
      set_threads(team);
      Tensor c({p.m, p.n});
      gemm(a.view, b.view, mutable_matrix(c.data(), p.m, p.n));
      results.push_back(c);
    }
    for (const Tensor& c : results)
      for (int64_t i = 0; i < c.count(); ++i) ASSERT_EQ(c.data()[i], results[0].data()[i]);
  }
  set_threads(before);
}

TEST(Gemm, ManyThreadsMayMultiplyAtOnce) {
  StoredMatrix a(40, 50, false, 0, 1), b(50, 60, false, 0, 2);
  Tensor expected({40, 60});
  gemm(a.view, b.view, mutable_matrix(expected.data(), 40, 60));
  std::vector<Tensor> results(4);
  std::vector<std::thread> team;
  for (Tensor& result : results)
    team.emplace_back([&] {
      result = Tensor({40, 60});
      for (int i = 0; i < 20; ++i) gemm(a.view, b.view, mutable_matrix(result.data(), 40, 60));
    });
  for (std::thread& thread : team) thread.join();
  for (const Tensor& result : results)
    for (int64_t i = 0; i < result.count(); ++i) ASSERT_EQ(result.data()[i], expected.data()[i]);
}

TEST(Gemm, MoreShapesThanTheCacheHoldsAreStillRight) {
  for (int64_t n = 1; n <= 70; ++n)
    for (int64_t k = 1; k <= 70; k += 1) {
      Tensor a = Tensor::full({1, k}, 1), b = Tensor::full({k, n}, 2), c({1, n});
      gemm(matrix(a.data(), 1, k), matrix(b.data(), k, n), mutable_matrix(c.data(), 1, n));
      ASSERT_EQ(c.at({0, n - 1}), 2 * static_cast<Real>(k));
    }
}

TEST(Gemm, ANaNIsNotLost) {
  Tensor a = Tensor::full({3, 4}, 1), b = Tensor::zeros({4, 5}), c({3, 5});
  a.data()[5] = NAN;
  gemm(matrix(a.data(), 3, 4), matrix(b.data(), 4, 5), mutable_matrix(c.data(), 3, 5));
  EXPECT_TRUE(std::isnan(c.at({1, 2})));
  EXPECT_EQ(c.at({0, 2}), 0);
}

TEST(Gemm, CountsItsOperations) {
  StoredMatrix a(3, 4, false, 0, 1), b(4, 5, false, 0, 2);
  Tensor c({3, 5});
  uint64_t before = gemm_flops();
  gemm(a.view, b.view, mutable_matrix(c.data(), 3, 5));
  EXPECT_EQ(gemm_flops() - before, 2u * 3 * 4 * 5);
}

TEST(Gemm, ErrorsNameTheSizes) {
  Tensor x = Tensor::zeros({64, 64});
  auto of = [&](int64_t rows, int64_t columns) { return matrix(x.data(), rows, columns); };
  auto to = [&](int64_t rows, int64_t columns) { return mutable_matrix(x.data(), rows, columns); };
  EXPECT_EQ(error_text([&] { gemm(of(3, 4), of(5, 6), to(3, 6)); }),
            "[matmul] inner sizes differ: (3, 4) x (5, 6); 4 must equal 5");
  EXPECT_EQ(error_text([&] { gemm(transposed(of(3, 4)), of(5, 6), to(4, 6)); }),
            "[matmul] inner sizes differ: (4, 3) x (5, 6); 3 must equal 5");
  EXPECT_EQ(error_text([&] { gemm(of(3, 4), of(4, 6), to(6, 3)); }),
            "[matmul] the result of (3, 4) x (4, 6) is (3, 6), not (6, 3)");
  EXPECT_EQ(error_text([&] {
              gemm(of(3, 4), of(4, 6), to(3, 6), {.accumulate = true, .bias = x.data()});
            }),
            "[matmul] a bias cannot be added while accumulating");
}

}  // namespace
}  // namespace lookback
