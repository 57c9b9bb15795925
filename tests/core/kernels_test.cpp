#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <vector>

#include "core/kernels/additive.h"
#include "core/kernels/elementwise.h"
#include "core/kernels/gates.h"
#include "core/kernels/vector.h"
#include "support/random_tensor.h"

namespace lookback {
namespace {

using testing::random_tensor;

constexpr Real kInf = std::numeric_limits<Real>::infinity();
constexpr Real kNaN = std::numeric_limits<Real>::quiet_NaN();

double exact_sigmoid(double x) {
  return x < 0 ? std::exp(x) / (1 + std::exp(x)) : 1 / (1 + std::exp(-x));
}

struct Function {
  const char* name;
  void (*kernel)(const Real*, Real*, int64_t);
  double (*exact)(double);
};

const Function kFunctions[] = {
    {"exp", kernels::exp, [](double x) { return std::exp(x); }},
    {"tanh", kernels::tanh, [](double x) { return std::tanh(x); }},
    {"sigmoid", kernels::sigmoid, exact_sigmoid},
};

/// |got - wanted| in terms of wanted; below the smallest normal float any small number will do.
void expect_close(const char* name, Real x, Real got, double wanted) {
  if (wanted > std::numeric_limits<float>::max()) {
    EXPECT_EQ(got, kInf) << name << "(" << x << ")";
    return;
  }
  EXPECT_NEAR(got, wanted, 5e-7 * std::abs(wanted) + 2e-38) << name << "(" << x << ")";
}

TEST(Elementwise, IsExactToHalfAMillionthOverAWideRange) {
  std::vector<Real> x;
  for (double v = -100; v <= 100; v += 0.0371) x.push_back(static_cast<Real>(v));
  for (double v = 1e-30; v < 1; v *= 1.9) {
    x.push_back(static_cast<Real>(v));
    x.push_back(static_cast<Real>(-v));
  }
  for (const Function& f : kFunctions) {
    std::vector<Real> y(x.size());
    f.kernel(x.data(), y.data(), static_cast<int64_t>(x.size()));
    for (size_t i = 0; i < x.size(); ++i) expect_close(f.name, x[i], y[i], f.exact(x[i]));
  }
}

TEST(Elementwise, ExtremesSaturateAndNaNStays) {
  // Each value stands in every place of a vector and among the lanes that are left over.
  for (Real value :
       {Real{-100}, Real{100}, Real{-150}, Real{150}, Real{-200}, Real{200}, Real{-1000},
        Real{1000}, Real{-1e30f}, Real{1e30f}, std::numeric_limits<Real>::max(),
        std::numeric_limits<Real>::lowest(), kInf, -kInf, Real{0}, Real{-0.0}})
    for (const Function& f : kFunctions) {
      std::vector<Real> x(19, value), y(19);
      f.kernel(x.data(), y.data(), 19);
      for (Real got : y) expect_close(f.name, value, got, f.exact(value));
    }
  for (const Function& f : kFunctions) {
    std::vector<Real> x(19, kNaN), y(19, 0);
    f.kernel(x.data(), y.data(), 19);
    for (Real got : y) EXPECT_TRUE(std::isnan(got)) << f.name << " of NaN gave " << got;
  }
}

TEST(Elementwise, AnElementsBitsDoNotDependOnItsPlace) {
  Tensor x = random_tensor({64}, 1, -8, 8);
  for (const Function& f : kFunctions) {
    Tensor whole({64});
    f.kernel(x.data(), whole.data(), 64);
    for (int64_t begin = 0; begin < 64; begin += 3)
      for (int64_t length : {1, 2, 7, 9, 17}) {
        if (begin + length > 64) continue;
        std::vector<Real> part(static_cast<size_t>(length) + 1, 77);
        f.kernel(x.data() + begin, part.data(), length);
        for (int64_t i = 0; i < length; ++i) ASSERT_EQ(part[i], whole.data()[begin + i]) << f.name;
        ASSERT_EQ(part[length], 77) << "wrote past the end";
      }
    Tensor same = x.clone();
    f.kernel(same.data(), same.data(), 64);
    for (int64_t i = 0; i < 64; ++i)
      ASSERT_EQ(same.data()[i], whole.data()[i]) << f.name << " in place";
  }
}

TEST(RowKernels, AddScaledAndDot) {
  for (int64_t n : {0, 1, 5, 8, 31}) {
    Tensor a = random_tensor({n}, 1), b = random_tensor({n}, 2), sum = b.clone();
    kernels::add_scaled(0.5, a.data(), sum.data(), n);
    double inner = 0;
    for (int64_t i = 0; i < n; ++i) {
      EXPECT_NEAR(sum.data()[i], b.data()[i] + 0.5 * a.data()[i], 1e-6);
      inner += static_cast<double>(a.data()[i]) * b.data()[i];
    }
    EXPECT_NEAR(kernels::dot(a.data(), b.data(), n), inner, 1e-5);
  }
}

/// Both forms of the additive scores.
struct Additive {
  const char* name;
  bool exponentials;

  Tensor operand(const Tensor& x) const {
    if (!exponentials) return x;
    Tensor out(x.shape());
    EXPECT_TRUE(kernels::additive_exponentials(x.data(), out.data(), x.count()));
    return out;
  }
};
const Additive kAdditive[] = {{"tanh", false}, {"exponentials", true}};

TEST(AdditiveScores, FollowTheirFormulaAndLeaveMaskedScoresAlone) {
  for (const Additive& form : kAdditive)
    for (int64_t units : {1, 7, 8, 19})
      for (uint32_t mask = 0; mask < 32; ++mask) {
        const int64_t length = 5;
        // Up to where the exponentials may be used, so that most of the tanh are at their ends.
        Tensor query = random_tensor({units}, 1, -40, 40),
               keys = random_tensor({length, units}, 2, -40, 40), v = random_tensor({units}, 3);
        query.data()[0] = 40;
        keys.data()[0] = 40;
        keys.data()[units] = -40;
        Tensor q = form.operand(query), k = form.operand(keys);
        std::vector<uint8_t> allowed;
        for (int64_t j = 0; j < length; ++j) {
          allowed.push_back(mask >> j & 1);
          for (int64_t a = 0; a < units && !allowed.back(); ++a) k.data()[j * units + a] = kNaN;
        }
        Tensor scores = Tensor::full({length}, 42);
        (form.exponentials ? kernels::additive_scores_by_exponentials : kernels::additive_scores)(
            q.data(), k.data(), v.data(), allowed.data(), length, units, scores.data());
        for (int64_t j = 0; j < length; ++j) {
          double sum = 0;
          for (int64_t a = 0; a < units; ++a)
            sum += v.at({a}) * std::tanh(query.at({a}) + keys.at({j, a}));
          if (allowed[static_cast<size_t>(j)])
            ASSERT_NEAR(scores.at({j}), sum, 1e-5) << form.name;
          else
            ASSERT_EQ(scores.at({j}), 42) << form.name;
        }
      }
}

TEST(AdditiveScores, HaveTheGradientsOfTheirFormula) {
  for (const Additive& form : kAdditive)
    for (int64_t units : {1, 7, 8, 19})
      for (uint32_t mask = 0; mask < 32; ++mask) {
        const int64_t length = 5;
        // Some far out, where the tanh are at their ends.
        const Real most = mask % 2 ? 3 : 40;
        Tensor query = random_tensor({units}, 1, -most, most),
               keys = random_tensor({length, units}, 2, -most, most), v = random_tensor({units}, 3),
               d = random_tensor({length}, 4);
        for (int64_t j = 0; j < length; ++j)
          if (!(mask >> j & 1)) d.data()[j] = 0;
        Tensor q = form.operand(query), k = form.operand(keys);
        Tensor dquery = random_tensor({units}, 5), dkeys = random_tensor({length, units}, 6),
               dv = random_tensor({units}, 7);
        const Tensor query_before = dquery.clone(), keys_before = dkeys.clone(),
                     v_before = dv.clone();
        kernels::AdditiveBackward work{.query = q.data(),
                                       .keys = k.data(),
                                       .v = v.data(),
                                       .d = d.data(),
                                       .length = length,
                                       .units = units,
                                       .dquery = dquery.data(),
                                       .dkeys = dkeys.data(),
                                       .dv = dv.data()};
        (form.exponentials ? kernels::additive_scores_by_exponentials_backward
                           : kernels::additive_scores_backward)(work);
        for (int64_t a = 0; a < units; ++a) {
          double of_query = query_before.at({a}), of_v = v_before.at({a});
          for (int64_t j = 0; j < length; ++j) {
            double t = std::tanh(query.at({a}) + keys.at({j, a}));
            double g = d.at({j}) * v.at({a}) * (1 - t * t);
            ASSERT_NEAR(dkeys.at({j, a}), keys_before.at({j, a}) + g, 2e-6) << form.name;
            of_query += g;
            of_v += d.at({j}) * t;
          }
          ASSERT_NEAR(dquery.at({a}), of_query, 5e-6) << form.name;
          ASSERT_NEAR(dv.at({a}), of_v, 5e-6) << form.name;
        }
      }
}

TEST(Gates, GruFollowsItsFormula) {
  for (int64_t units : {1, 3, 8, 13}) {
    const int64_t rows = 3;
    Tensor x = random_tensor({rows, 3, units}, 1, -3, 3),
           h = random_tensor({rows, 3, units}, 2, -3, 3);
    Tensor previous = random_tensor({rows, units}, 3), gates({rows, 3, units}),
           candidate({rows, units}), next({rows, units});
    kernels::gru_forward({rows, units, x.data(), h.data(), previous.data(), gates.data(),
                          candidate.data(), next.data()});
    for (int64_t b = 0; b < rows; ++b)
      for (int64_t j = 0; j < units; ++j) {
        double r = exact_sigmoid(x.at({b, 0, j}) + h.at({b, 0, j}));
        double z = exact_sigmoid(x.at({b, 1, j}) + h.at({b, 1, j}));
        double n = std::tanh(x.at({b, 2, j}) + r * h.at({b, 2, j}));
        EXPECT_NEAR(gates.at({b, 0, j}), r, 1e-6);
        EXPECT_NEAR(gates.at({b, 1, j}), z, 1e-6);
        EXPECT_NEAR(gates.at({b, 2, j}), n, 1e-6);
        EXPECT_EQ(candidate.at({b, j}), h.at({b, 2, j}));
        EXPECT_NEAR(next.at({b, j}), (1 - z) * n + z * previous.at({b, j}), 1e-6);
      }
    Tensor overwritten = x.clone();
    Tensor next_again({rows, units});
    kernels::gru_forward({rows, units, overwritten.data(), h.data(), previous.data(),
                          overwritten.data(), candidate.data(), next_again.data()});
    for (int64_t i = 0; i < next.count(); ++i) ASSERT_EQ(next.data()[i], next_again.data()[i]);
    for (int64_t i = 0; i < gates.count(); ++i) ASSERT_EQ(gates.data()[i], overwritten.data()[i]);
  }
}

TEST(Gates, LstmFollowsItsFormula) {
  for (int64_t units : {1, 3, 8, 13}) {
    const int64_t rows = 3;
    Tensor x = random_tensor({rows, 4, units}, 1, -3, 3),
           h = random_tensor({rows, 4, units}, 2, -3, 3);
    Tensor previous = random_tensor({rows, units}, 3), gates({rows, 4, units}), cell({rows, units}),
           next({rows, units});
    kernels::lstm_forward(
        {rows, units, x.data(), h.data(), previous.data(), gates.data(), cell.data(), next.data()});
    for (int64_t b = 0; b < rows; ++b)
      for (int64_t j = 0; j < units; ++j) {
        auto sum = [&](int64_t gate) { return double{x.at({b, gate, j})} + h.at({b, gate, j}); };
        double i = exact_sigmoid(sum(0)), f = exact_sigmoid(sum(1)), g = std::tanh(sum(2)),
               o = exact_sigmoid(sum(3));
        double c = f * previous.at({b, j}) + i * g;
        EXPECT_NEAR(gates.at({b, 0, j}), i, 1e-6);
        EXPECT_NEAR(gates.at({b, 1, j}), f, 1e-6);
        EXPECT_NEAR(gates.at({b, 2, j}), g, 1e-6);
        EXPECT_NEAR(gates.at({b, 3, j}), o, 1e-6);
        EXPECT_NEAR(cell.at({b, j}), c, 1e-6);
        EXPECT_NEAR(next.at({b, j}), o * std::tanh(c), 1e-6);
      }
  }
}

TEST(Gates, VanillaFollowsItsFormula) {
  Tensor x = random_tensor({13}, 1, -3, 3), h = random_tensor({13}, 2, -3, 3), next({13}), d({13}),
         g = random_tensor({13}, 3);
  kernels::rnn_forward(13, x.data(), h.data(), next.data());
  kernels::rnn_backward(13, g.data(), next.data(), d.data());
  for (int64_t i = 0; i < 13; ++i) {
    double y = std::tanh(x.at({i}) + h.at({i}));
    EXPECT_NEAR(next.at({i}), y, 1e-6);
    EXPECT_NEAR(d.at({i}), g.at({i}) * (1 - y * y), 1e-6);
  }
}

TEST(Gates, SaturateRatherThanBreakAtLargeSums) {
  const int64_t units = 9;
  for (Real size : {Real{90}, Real{300}, Real{1e6f}, kInf})
    for (Real sign : {Real{-1}, Real{1}}) {
      Tensor x = Tensor::full({3 * units}, sign * size), h = Tensor::zeros({3 * units}),
             previous = Tensor::full({units}, 0.5);
      Tensor gates({3 * units}), candidate({units}), next({units});
      kernels::gru_forward({1, units, x.data(), h.data(), previous.data(), gates.data(),
                            candidate.data(), next.data()});
      for (Real value : next.values()) EXPECT_NEAR(value, sign > 0 ? 0.5 : -1, 1e-6) << sign * size;
    }
}

TEST(Kernels, ManyRowsAgainstOneEqualAPlainLoop) {
  for (int64_t count : {0, 1, 3, 4, 5, 9})
    for (int64_t width : {1, 7, 8, 19, 64}) {
      SCOPED_TRACE(::testing::Message() << count << " rows of " << width);
      int64_t stride = width + 2;
      Tensor row = testing::random_tensor({width}, 1),
             data = testing::random_tensor({count, stride}, 2);
      Tensor weights = testing::random_tensor({count}, 3), sum = testing::random_tensor({width}, 4);
      Tensor out({count}), before = sum.clone();
      kernels::ManyRows rows{data.data(), stride, count, width};
      kernels::dots(row.data(), rows, out.data());
      kernels::add_weighted(weights.data(), rows, sum.data());
      for (int64_t i = 0; i < count; ++i) {
        double expected = 0;
        for (int64_t j = 0; j < width; ++j) expected += double{row.at({j})} * data.at({i, j});
        EXPECT_NEAR(out.at({i}), expected, 1e-5) << i;
        Real alone;  // the bits do not tell which rows went together
        kernels::dots(row.data(), {data.data() + i * stride, stride, 1, width}, &alone);
        EXPECT_EQ(alone, out.at({i})) << i;
      }
      for (int64_t j = 0; j < width; ++j) {
        double expected = before.at({j});
        for (int64_t i = 0; i < count; ++i) expected += double{weights.at({i})} * data.at({i, j});
        EXPECT_NEAR(sum.at({j}), expected, 1e-5) << j;
      }
    }
}

TEST(Kernels, ARowOfWeightZeroIsNotRead) {
  for (int64_t hole = 0; hole < 6; ++hole) {
    Tensor data = Tensor::full({6, 10}, 1), weights = Tensor::full({6}, 2),
           sum = Tensor::zeros({10});
    weights.data()[hole] = 0;
    for (int64_t j = 0; j < 10; ++j) data.data()[hole * 10 + j] = kNaN;
    kernels::add_weighted(weights.data(), {data.data(), 10, 6, 10}, sum.data());
    for (int64_t j = 0; j < 10; ++j) EXPECT_EQ(sum.at({j}), 10) << hole << " " << j;
  }
}

TEST(Kernels, ReluAndItsGradient) {
  std::vector<Real> x{-2, -0.0f, 0, 3, kInf, -kInf, kNaN, 5, -1, 2, 7}, y(x.size()), dx(x.size());
  std::vector<Real> g{1, 2, 3, 4, 5, 6, 7, kNaN, kNaN, -3, kInf};
  kernels::relu(x.data(), y.data(), static_cast<int64_t>(x.size()));
  kernels::relu_backward(y.data(), g.data(), dx.data(), static_cast<int64_t>(x.size()));
  std::vector<Real> expected{0, 0, 0, 3, kInf, 0, kNaN, 5, 0, 2, 7};
  std::vector<Real> slope{0, 0, 0, 4, 5, 0, 0, kNaN, 0, -3, kInf};
  for (size_t i = 0; i < x.size(); ++i) {
    EXPECT_TRUE(y[i] == expected[i] || (std::isnan(y[i]) && std::isnan(expected[i]))) << i;
    EXPECT_TRUE(dx[i] == slope[i] || (std::isnan(dx[i]) && std::isnan(slope[i]))) << i;
  }
}

}  // namespace
}  // namespace lookback
