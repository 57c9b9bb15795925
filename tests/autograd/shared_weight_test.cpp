#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <thread>
#include <vector>

#include "autograd/node.h"
#include "autograd/ops.h"
#include "core/threads.h"
#include "support/error_text.h"
#include "support/random_tensor.h"

// A weight that several products share, and the gradients that wait for one another until all are there.

namespace lookback {
namespace {

using testing::error_text;
using testing::random_tensor;

constexpr double kClose = sizeof(Real) == 8 ? 1e-12 : 2e-5;

void expect_close(const Tensor& a, const Tensor& b, const char* what) {
  ASSERT_EQ(a.shape(), b.shape()) << what;
  for (int64_t i = 0; i < a.count(); ++i)
    ASSERT_NEAR(a.data()[i], b.data()[i], kClose * (1 + std::abs(b.data()[i]))) << what << " " << i;
}

Variable parameter(const Shape& shape, uint64_t seed) {
  return Variable(random_tensor(shape, seed), true);
}

/// s' = tanh(s W^T + x_t), step by step, weighted by `mix`: the weight is used at every step.
template <class Weight>
Variable loop(const Variable& start, const Weight& weight, const Variable& x, const Variable& mix) {
  Variable state = start, sum;
  for (const Variable& now : unbind(x, 1)) {
    state = tanh(linear_add(state, weight, now));
    Variable part = lookback::sum(state * mix);
    sum = sum.defined() ? sum + part : part;
  }
  return sum;
}

TEST(SharedWeight, GivesWhatTheWeightItselfGives) {
  Variable start = parameter({9, 20}, 1), weight = parameter({20, 20}, 2);
  Variable x = parameter({9, 6, 20}, 3), mix = random_tensor({9, 20}, 4);
  Variable plain = loop(start, weight, x, mix), shared = loop(start, SharedWeight(weight), x, mix);
  EXPECT_NEAR(plain.item(), shared.item(), kClose);
  Gradients of_plain = backward(plain), of_shared = backward(shared);
  for (const Variable& v : {start, weight, x})
    expect_close(of_shared.of(v), of_plain.of(v), "gradient");
}

TEST(SharedWeight, LinearWithItsBiasToo) {
  Variable x = parameter({3, 7, 10}, 1), weight = parameter({30, 10}, 2), bias = parameter({30}, 3);
  Variable mix = random_tensor({3, 7, 30}, 4);
  SharedWeight shared(weight);
  Gradients of_plain = backward(sum(linear(x, weight, bias) * mix)),
            of_shared = backward(sum(linear(x, shared, bias) * mix));
  for (const Variable& v : {x, weight, bias})
    expect_close(of_shared.of(v), of_plain.of(v), "gradient");
}

TEST(SharedWeight, TwoThreadsMayWalkOneGraph) {
  Variable start = parameter({9, 20}, 1), weight = parameter({20, 20}, 2);
  Variable x = parameter({9, 6, 20}, 3), mix = random_tensor({9, 20}, 4);
  for (int round = 0; round < 20; ++round) {
    Variable loss = loop(start, SharedWeight(weight), x, mix);
    std::vector<Tensor> results(2);
    std::thread other([&] { results[0] = backward(loss).of(weight); });
    results[1] = backward(loss).of(weight);
    other.join();
    for (int64_t i = 0; i < results[0].count(); ++i)
      ASSERT_EQ(results[0].data()[i], results[1].data()[i]);
  }
}

TEST(SharedWeight, IsAMatrix) {
  EXPECT_EQ(error_text([] {
              SharedWeight(random_tensor({2, 3, 4}, 1));
            }),
            "[shared_weight] a weight is (outputs, inputs), not (2, 3, 4)");
}

/// dW of a weight that is used in every way a gradient can arrive, by ops whose gradients are known.
TEST(WaitingProducts, AllThatReachesAWeightIsAddedUp) {
  for (int64_t rows : {3, 700}) {  // few, and more than wait for one another
    Variable w = parameter({5, 4}, 1);
    Variable x = random_tensor({rows, 4}, 2), y = random_tensor({rows, 5}, 3);
    Variable g = random_tensor({rows, 5}, 4), h = random_tensor({rows, 4}, 5);
    Variable other = random_tensor({5, 4}, 6);
    // sum g (x W^T), twice, sum h (y W), and sum other W: dW = 2 g^T x + y^T h + other
    Variable loss =
        sum(linear(x, w) * g) + sum(w * other) + sum(matmul(y, w) * h) + sum(linear(x, w) * g);
    Tensor expected({5, 4});
    for (int64_t i = 0; i < 5; ++i)
      for (int64_t j = 0; j < 4; ++j) {
        double total = other.value().at({i, j});
        for (int64_t r = 0; r < rows; ++r)
          total += 2.0 * g.value().at({r, i}) * x.value().at({r, j}) +
                   static_cast<double>(y.value().at({r, i})) * h.value().at({r, j});
        expected.data()[i * 4 + j] = static_cast<Real>(total);
      }
    expect_close(backward(loss).of(w), expected, "dW");
  }
}

TEST(WaitingProducts, AGradientThatWaitsIsNotWrittenByAnother) {
  // linear_add hands its gradient g on to `base` and lets it wait for dW; k g is added to base's after that.
  Variable w = parameter({4, 4}, 1), base = parameter({6, 4}, 2);
  Variable x = random_tensor({6, 4}, 3), k = random_tensor({6, 4}, 4), g = random_tensor({6, 4}, 5);
  Variable scaled = base * k;
  Gradients got = backward(sum((scaled + linear_add(x, w, base)) * g));
  Tensor expected({4, 4});
  for (int64_t i = 0; i < 4; ++i)
    for (int64_t j = 0; j < 4; ++j) {
      double total = 0;
      for (int64_t r = 0; r < 6; ++r)
        total += static_cast<double>(g.value().at({r, i})) * x.value().at({r, j});
      expected.data()[i * 4 + j] = static_cast<Real>(total);
    }
  expect_close(got.of(w), expected, "dW");
}

TEST(WaitingProducts, OfNoRowsOrNoColumnsAreZeros) {
  Variable w = parameter({3, 4}, 1), nothing = Tensor::zeros({0, 4});
  EXPECT_EQ(backward(sum(linear(nothing, w))).of(w).shape(), (Shape{3, 4}));
  // Through narrow(), which passes on what came to it.
  Variable narrowed = narrow(w, 1, 1, 2);
  Tensor dw = backward(sum(linear(Variable(Tensor::zeros({0, 2})), narrowed))).of(w);
  ASSERT_TRUE(dw.defined());
  for (Real x : dw.values()) EXPECT_EQ(x, 0);
  Variable empty = parameter({3, 0}, 2);
  EXPECT_EQ(backward(sum(matmul(Variable(random_tensor({2, 3}, 3)), empty))).of(empty).shape(),
            (Shape{3, 0}));
}

TEST(WaitingProducts, OfTheWrongShapeNameTheOp) {
  Variable w = parameter({3, 4}, 1);
  Variable bad =
      GraphBuilder("bad", {w}).result(Tensor::scalar(0), [](OutputGradients, GradientSink& into) {
        into.add_product(0, Tensor::zeros({5, 3}), Tensor::zeros({5, 5}));
      });
  EXPECT_EQ(error_text([&] { backward(bad); }),
            "[bad] a product of (5, 3) transposed and (5, 5) is no gradient of input 0, (3, 4)");
}

TEST(WaitingProducts, AContextGradientThatIsNoNumberStaysAwayFromMaskedValues) {
  int64_t batch = 2, length = 3, units = 4;
  Variable keys = parameter({batch, length, units}, 1),
           values = parameter({batch, length, units}, 2);
  Variable query = random_tensor({batch, units}, 3), v = random_tensor({units}, 4);
  Tensor mix = random_tensor({batch, units}, 5);
  mix.data()[0] = std::numeric_limits<Real>::quiet_NaN();
  Tensor g =
      backward(sum(additive_attention(query, keys, v, values, Mask::from_lengths({1, 3}, length))
                       .context *
                   mix))
          .of(values);
  for (int64_t j = units; j < 3 * units; ++j) EXPECT_EQ(g.data()[j], 0) << "masked";
  for (int64_t j = 3 * units; j < 6 * units; ++j) EXPECT_TRUE(std::isfinite(g.data()[j])) << j;
}

TEST(WaitingProducts, OfAttentionsStepsEqualThoseOfAllQueriesAtOnce) {
  int64_t batch = 3, steps = 4, length = 5, units = 6;
  Variable keys = parameter({batch, length, units}, 1), values = parameter({batch, length, 7}, 2);
  Variable queries = parameter({batch, steps, units}, 3), mix = random_tensor({batch, steps, 7}, 4);
  Mask mask = Mask::from_lengths({5, 2, 4}, length);
  auto attend = [&](const Variable& q) {
    auto whole = [](const Variable& x) { return heads(x, 1, x.size(-1)); };
    return dot_product_attention(whole(q), whole(keys), whole(values), {.mask = mask}).context;
  };
  std::vector<Variable> one_by_one;
  for (const Variable& q : unbind(queries, 1))
    one_by_one.push_back(reshape(attend(reshape(q, {batch, 1, units})), {batch, 7}));
  Gradients of_steps = backward(sum(stack(one_by_one, 1) * mix)),
            of_all = backward(sum(attend(queries) * mix));
  for (const Variable& v : {keys, values, queries})
    expect_close(of_steps.of(v), of_all.of(v), "gradient");
}

TEST(WaitingProducts, AQueryThatIsNoNumberStaysAwayFromMaskedKeys) {
  int64_t batch = 2, length = 3, units = 4;
  Variable keys = parameter({batch, length, units}, 1),
           values = parameter({batch, length, units}, 2);
  Tensor query = random_tensor({batch, 1, units}, 3);
  query.data()[0] = std::numeric_limits<Real>::quiet_NaN();
  Variable q = query, mix = random_tensor({batch, 1, units}, 4);
  auto whole = [](const Variable& x) { return heads(x, 1, x.size(-1)); };
  Gradients g = backward(sum(dot_product_attention(whole(q), whole(keys), whole(values),
                                                   {.mask = Mask::from_lengths({1, 3}, length)})
                                 .context *
                             mix));
  for (const Variable& v : {keys, values})
    for (int64_t j = units; j < 3 * units; ++j)
      EXPECT_EQ(g.of(v).data()[j], 0) << "sentence 0 has one key alone, and this is none of it";
  for (int64_t j = 3 * units; j < 6 * units; ++j)
    EXPECT_TRUE(std::isfinite(g.of(values).data()[j])) << "sentence 1 has a sound query";
}

TEST(WaitingProducts, BitsDoNotDependOnTheNumberOfThreads) {
  int before = threads();
  Variable w = parameter({96, 80}, 1), x = parameter({40, 30, 80}, 2);
  Variable mix = random_tensor({40, 96}, 3);
  std::vector<Tensor> results;
  for (int team : {1, 2, 5}) {
    set_threads(team);
    Variable total;
    for (const Variable& now : unbind(x, 1)) {
      Variable part = sum(linear(now, w) * mix);
      total = total.defined() ? total + part : part;
    }
    results.push_back(backward(total).of(w));
  }
  set_threads(before);
  for (const Tensor& r : results)
    for (int64_t i = 0; i < r.count(); ++i) ASSERT_EQ(r.data()[i], results[0].data()[i]);
}

TEST(KeyExponentials, GiveTheScoresAndGradientsOfTanhItself) {
  int64_t batch = 3, length = 5, units = 11;
  Variable query = parameter({batch, units}, 1), keys = parameter({batch, length, units}, 2);
  Variable v = parameter({units}, 3), values = parameter({batch, length, 4}, 4);
  Variable mix = random_tensor({batch, 4}, 5), also = random_tensor({batch, length}, 6);
  Mask mask = Mask::from_lengths({5, 2, 4}, length);
  // Sentence 1 has a key that is too large, sentence 2 a query: they go without, the other does not mind.
  keys.leaf_value().data()[length * units + 3] = 50;
  query.leaf_value().data()[2 * units + 1] = -60;
  KeyExponentials exponentials(keys);
  EXPECT_EQ(exponentials.usable, (std::vector<uint8_t>{1, 0, 1}));
  auto loss = [&](const KeyExponentials& e) {
    Attended out = additive_attention(query, keys, v, values, mask, e);
    return sum(out.context * mix) + sum(out.weights * also);
  };
  Variable plain = loss({}), cheap = loss(exponentials);
  EXPECT_NEAR(plain.item(), cheap.item(), kClose);
  Gradients of_plain = backward(plain), of_cheap = backward(cheap);
  for (const Variable& x : {query, keys, v, values})
    expect_close(of_cheap.of(x), of_plain.of(x), "gradient");
}

TEST(KeyExponentials, HoldToTheEdgeOfTheirRange) {
  for (Real q : {-40.0, -3.0, 0.0, 1e-3, 40.0})
    for (Real k : {-40.0, -2.5, 0.0, 40.0}) {
      Variable query = Tensor::full({1, 1}, q), keys = Tensor::full({1, 1, 1}, k);
      Variable one = Tensor::full({1}, 1), values = Tensor::full({1, 1, 1}, 1);
      KeyExponentials exponentials(keys);
      ASSERT_TRUE(exponentials.usable[0]);
      // One key alone has weight 1 whatever its score, so a second one of score 0 stands beside it.
      Variable two = concat(std::vector{keys, Variable(Tensor::full({1, 1, 1}, -q))}, 1);
      Mask both = Mask::from_lengths({2}, 2);
      Variable pair = concat(std::vector{values, values}, 1);
      Attended out = additive_attention(query, two, one, pair, both, KeyExponentials(two));
      double score = std::tanh(double{q} + k);
      EXPECT_NEAR(out.weights.value().at({0, 0}), 1 / (1 + std::exp(-score)), 1e-6)
          << q << " " << k;
    }
}

}  // namespace
}  // namespace lookback
