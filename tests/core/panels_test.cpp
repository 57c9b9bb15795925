#ifndef LOOKBACK_DOUBLE

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "core/kernels/panels.h"
#include "support/random_tensor.h"
#include "support/stored_matrix.h"

// The kernels of gemm(), each alone, whichever of them this processor would choose.

namespace lookback {
namespace {

using testing::random_tensor;
using testing::StoredMatrix;

struct Case {
  int64_t m, n, k;
  bool transpose_a, transpose_b;
  int64_t gap = 0;
};

/// Checks every element of C = start + A B, and that nothing beside them was written.
class Product {
 public:
  explicit Product(const Case& p)
      : p_(p), a(p.m, p.k, p.transpose_a, p.gap, 1), b(p.k, p.n, p.transpose_b, p.gap, 2) {}

  template <class Multiply>
  void expect(bool accumulate, bool with_bias, Multiply&& multiply) const {
    SCOPED_TRACE(::testing::Message()
                 << p_.m << " x " << p_.n << " x " << p_.k << (p_.transpose_a ? " ta" : "")
                 << (p_.transpose_b ? " tb" : "") << " gap " << p_.gap
                 << (accumulate ? " accumulate" : "") << (with_bias ? " bias" : ""));
    Tensor c = random_tensor({p_.m, p_.n + 3}, 3), before = c.clone(),
           bias = random_tensor({p_.n}, 4);
    multiply(MutableMatrix{c.data(), p_.m, p_.n, p_.n + 3},
             GemmOptions{.accumulate = accumulate, .bias = with_bias ? bias.data() : nullptr});
    for (int64_t i = 0; i < p_.m; ++i) {
      for (int64_t j = 0; j < p_.n; ++j) {
        double sum = accumulate ? before.at({i, j}) : with_bias ? bias.at({j}) : 0, size = 1;
        for (int64_t l = 0; l < p_.k; ++l) {
          sum += a.at(i, l) * b.at(l, j);
          size += std::abs(a.at(i, l) * b.at(l, j));
        }
        ASSERT_NEAR(c.at({i, j}), sum, 1e-6 * size) << "element " << i << ", " << j;
      }
      for (int64_t j = p_.n; j < p_.n + 3; ++j)
        ASSERT_EQ(c.at({i, j}), before.at({i, j})) << "wrote past row " << i;
    }
  }

 private:
  Case p_;

 public:
  StoredMatrix a, b;
};

/// Sizes around each of the kernels' own: rows of a tile 6, of a block 96; columns of a panel 16, laid
/// out at a time 1,024; depth at a time 512; and vectors of 8.
std::vector<Case> cases() {
  std::vector<Case> out;
  for (bool ta : {false, true})
    for (bool tb : {false, true}) {
      for (int64_t m : {1, 5, 6, 7, 32, 96, 97})
        for (int64_t n : {1, 15, 16, 17, 40})
          for (int64_t k : {1, 7, 8, 9, 64}) out.push_back({m, n, k, ta, tb, (m + n) % 3});
      out.push_back({13, 1030, 5, ta, tb});
      out.push_back({13, 33, 513, ta, tb});
      out.push_back({100, 17, 1100, ta, tb, 1});
      out.push_back({64, 64, 64, ta, tb});
      out.push_back({64, 40, 1100, ta, tb, 1});  // one block of A, several parts of the depth
      out.push_back({96, 48, 513, ta, tb});
      out.push_back({256, 20, 256, ta, tb});  // a stride of 1 KiB or more, a power of two
      // One block of A, and rows of B that are whole lines of the cache: they are read as they lie.
      for (int64_t k : {3, 70, 129, 256})
        for (auto [n, gap] : {std::pair{48, 0}, {72, 8}, {1030, 10}})
          for (int64_t m : {6, 49, 64, 96})
            if (n < 1000 || m == 49) out.push_back({m, n, k, ta, tb, gap});
    }
  return out;
}

TEST(Panels, PanelsEqualAPlainLoop) {
  for (const Case& p : cases()) {
    Product product(p);
    for (bool accumulate : {false, true})
      for (bool bias : {false, true}) {
        if (accumulate && bias) continue;
        product.expect(accumulate, bias, [&](const MutableMatrix& c, const GemmOptions& options) {
          panels::multiply(product.a.view, product.b.view, c, options);
        });
        if (::testing::Test::HasFatalFailure()) return;
      }
  }
}

TEST(Panels, OfALargerLayoutTakeOnlyWhatIsAskedFor) {
  const int64_t depth = 700, width = 60, m = 13;
  for (int64_t row : {0, 3})
    for (int64_t k : {1, 40, 600})
      for (int64_t n : {5, 16, 37}) {
        // NaN everywhere but in the part: rows [row, row + k), columns [16, 16 + n).
        Tensor whole = Tensor::full({depth, width}, std::numeric_limits<Real>::quiet_NaN());
        StoredMatrix a(m, k, false, 0, 1), b(k, n, false, 0, 2);
        for (int64_t l = 0; l < k; ++l)
          for (int64_t j = 0; j < n; ++j)
            whole.data()[(row + l) * width + 16 + j] = static_cast<Real>(b.at(l, j));
        Tensor panels({panels::packed_count(depth, width)}), c({m, n});
        panels::pack(matrix(std::as_const(whole).data(), depth, width), 0, width, panels.data());
        panels::multiply(a.view, Panels{panels.data() + 16 * depth + row * kPanelWidth, depth},
                         mutable_matrix(c.data(), m, n), {});
        for (int64_t i = 0; i < m; ++i)
          for (int64_t j = 0; j < n; ++j) {
            double sum = 0;
            for (int64_t l = 0; l < k; ++l) sum += a.at(i, l) * b.at(l, j);
            ASSERT_NEAR(c.at({i, j}), sum, 1e-4) << row << " " << k << " " << n;
          }
      }
}

TEST(Panels, PanelsLaidOutBeforeGiveTheSameBits) {
  for (const Case& p : cases()) {
    Product product(p);
    Tensor panels({panels::packed_count(p.k, p.n)});
    panels::pack(product.b.view, 0, p.n, panels.data());
    Tensor on_the_way({p.m, p.n}), before({p.m, p.n});
    panels::multiply(product.a.view, product.b.view, mutable_matrix(on_the_way.data(), p.m, p.n),
                     {});
    panels::multiply(product.a.view, Panels{panels.data(), p.k},
                     mutable_matrix(before.data(), p.m, p.n), {});
    for (int64_t i = 0; i < before.count(); ++i)
      ASSERT_EQ(before.data()[i], on_the_way.data()[i])
          << p.m << " x " << p.n << " x " << p.k << ", element " << i;
  }
}

TEST(Panels, AndOneDnnEqualAPlainLoop) {
  for (const Case& p : cases()) {
    Product product(p);
    for (bool bias : {false, true}) {
      product.expect(!bias, bias, [&](const MutableMatrix& c, const GemmOptions& options) {
        gemm_onednn(product.a.view, product.b.view, c, options);
      });
      if (::testing::Test::HasFatalFailure()) return;
    }
  }
}

TEST(Panels, RowsInSeveralPlacesGiveTheBitsOfOneMatrix) {
  for (int64_t m : {9, 97})
    for (int64_t n : {5, 40})
      for (int64_t k : {11, 700}) {
        Tensor a = random_tensor({k, m}, 1), b = random_tensor({k, n}, 2);
        std::vector<Rows> left, right;
        for (int64_t begin = 0, step = 0; begin < k; ++step) {
          int64_t count = std::min<int64_t>(k - begin, step % 4 == 1 ? 0 : 1 + step % 7);
          left.push_back({a.data() + begin * m, m, count});
          right.push_back({b.data() + begin * n, n, count});
          begin += count;
        }
        Tensor once = random_tensor({m, n}, 3), parts = once.clone();
        panels::multiply(transposed(matrix(a.data(), k, m)), matrix(b.data(), k, n),
                         mutable_matrix(once.data(), m, n), {.accumulate = true});
        panels::multiply_rows(left, right, mutable_matrix(parts.data(), m, n),
                              {.accumulate = true});
        for (int64_t i = 0; i < once.count(); ++i)
          ASSERT_EQ(parts.data()[i], once.data()[i])
              << m << " x " << n << " x " << k << " at " << i;
      }
}

TEST(Panels, WhatStandsBesideAMatrixIsNeverRead) {
  // Padding of the rows holds NaN: whole vectors are read where less is left.
  for (bool ta : {false, true})
    for (bool tb : {false, true})
      for (int64_t m : {6, 11, 64, 251})
        for (auto [n, gap] : {std::pair{9, 5}, {16, 5}, {20, 12}}) {
          Product product({m, n, 10, ta, tb, gap});
          for (StoredMatrix* x : {&product.a, &product.b})
            for (int64_t row = 0; row < x->view.rows; ++row)
              for (int64_t j = x->view.columns; j < x->view.stride; ++j)
                x->buffer.data()[row * x->view.stride + j] = std::numeric_limits<Real>::quiet_NaN();
          product.expect(false, false, [&](const MutableMatrix& c, const GemmOptions& options) {
            panels::multiply(product.a.view, product.b.view, c, options);
          });
        }
}

}  // namespace
}  // namespace lookback

#endif
