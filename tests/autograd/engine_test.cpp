#include <gtest/gtest.h>
#include <pthread.h>

#include <functional>
#include <thread>
#include <vector>

#include "autograd/gradient_check.h"
#include "autograd/node.h"
#include "autograd/ops.h"
#include "autograd/variable.h"
#include "support/error_text.h"
#include "support/random_tensor.h"

namespace lookback {
namespace {

using testing::error_text;
using testing::random_tensor;

Variable leaf(const Shape& shape, uint64_t seed) {
  return Variable(random_tensor(shape, seed), true);
}

void expect_same_bits(const Tensor& a, const Tensor& b) {
  ASSERT_TRUE(a.defined() && b.defined());
  ASSERT_EQ(a.shape(), b.shape());
  for (int64_t i = 0; i < a.count(); ++i) ASSERT_EQ(a.data()[i], b.data()[i]) << i;
}

TEST(Backward, CalledTwiceGivesTheSameAnswerTwice) {
  Variable w = leaf({4, 3}, 1), b = leaf({4}, 2), x = random_tensor({5, 3}, 3);
  Variable hidden = tanh(linear(x, w, b));
  Variable loss = uneven_loss({hidden, softmax(matmul(hidden, w + w))});
  Gradients first = backward(loss);
  Tensor kept_w = first.of(w).clone(), kept_b = first.of(b).clone();
  Gradients second = backward(loss);
  expect_same_bits(kept_w, second.of(w));
  expect_same_bits(kept_b, second.of(b));
  expect_same_bits(kept_w, first.of(w));
}

TEST(Backward, GradientsAreValuesAndLeaveNoState) {
  Variable w = leaf({3}, 1);
  Variable loss = sum(w * w);
  {
    Gradients gradients = backward(loss);
    Tensor mine = gradients.of(w);
    mine.fill(100);  // spoils this answer alone
  }
  Gradients again = backward(loss);
  for (int64_t i = 0; i < 3; ++i) EXPECT_EQ(again.of(w).at({i}), 2 * w.value().at({i}));
  EXPECT_EQ(again.size(), 1u);
}

TEST(Backward, ALeafUsedManyTimesGetsTheSum) {
  Variable w = leaf({3}, 1);
  Variable total = w;
  for (int i = 1; i < 10; ++i) total = total + w;
  Tensor g = backward(sum(total)).of(w);
  for (Real value : g.values()) EXPECT_EQ(value, 10);
}

TEST(Backward, ADiamondIsWalkedOnce) {
  // y doubles thirty times: walking every path would take a billion steps.
  Variable w = leaf({}, 1), y = w;
  int calls = 0;
  for (int i = 0; i < 30; ++i) {
    Variable z = y + y;
    y = GraphBuilder("counted", {z})
            .result(z.value(), [&calls](OutputGradients g, GradientSink& into) {
              ++calls;
              into.add(0, g[0]);
            });
  }
  EXPECT_EQ(backward(y).of(w).item(), Real(1 << 30));
  EXPECT_EQ(calls, 30);
}

/// loss = sum(c (a + b)) + what `other` makes of a; the gradient of b must be c, whichever reaches
/// a first.
void expect_b_untouched(const std::function<Variable(const Variable& a)>& other) {
  Tensor c = random_tensor({3, 3}, 9);
  for (bool add_is_younger : {false, true}) {
    Variable a = leaf({3, 3}, 1), b = leaf({3, 3}, 2);
    Variable first = add_is_younger ? other(a) : a + b;
    Variable second = add_is_younger ? a + b : other(a);
    Variable both = add_is_younger ? second : first, alone = add_is_younger ? first : second;
    Gradients g = backward(sum(both * Variable(c)) + sum(alone));
    expect_same_bits(g.of(b), c);
    Tensor of_other = backward(sum(other(a))).of(a);
    for (int64_t i = 0; i < 9; ++i)
      EXPECT_NEAR(g.of(a).data()[i], c.data()[i] + of_other.data()[i], 1e-6) << add_is_younger;
  }
}

TEST(Backward, AGradientHandedToTwoInputsIsNotSpoiled) {
  expect_b_untouched([](const Variable& a) { return scale(a, 3); });
  expect_b_untouched([](const Variable& a) { return narrow(a, 0, 1, 2); });  // in place
  expect_b_untouched([](const Variable& a) {
    return linear(random_tensor({4, 3}, 5), a);
  });                                                                     // product
  expect_b_untouched([](const Variable& a) { return reshape(a, {9}); });  // a view
  expect_b_untouched([](const Variable& a) { return matmul(random_tensor({4, 3}, 5), a + a); });
  expect_b_untouched([](const Variable& a) { return relu(a); });  // in place where it is alone
}

TEST(Backward, TheSeedIsNotSpoiled) {
  Variable a = leaf({3}, 1);
  Tensor seed = Tensor::from({3}, {1, 2, 3});
  Gradients g = backward(a + a, seed);
  expect_same_bits(seed, Tensor::from({3}, {1, 2, 3}));
  expect_same_bits(g.of(a), Tensor::from({3}, {2, 4, 6}));
  expect_same_bits(backward(a, seed).of(a), seed);
  backward(relu(scale(a, -1)), seed);
  expect_same_bits(seed, Tensor::from({3}, {1, 2, 3}));
}

TEST(Backward, OnlyLeavesThatTheLossDependsOnAreInTheAnswer) {
  Variable a = leaf({2}, 1), unused = leaf({2}, 2), constant = random_tensor({2}, 3);
  Gradients g = backward(sum(a * constant));
  EXPECT_TRUE(g.contains(a));
  EXPECT_FALSE(g.contains(unused));
  EXPECT_FALSE(g.contains(constant));
  EXPECT_FALSE(g.of(unused).defined());
  EXPECT_EQ(g.size(), 1u);
  EXPECT_FALSE(backward(sum(a.detach() * a)).of(unused).defined());
  expect_same_bits(backward(sum(a.detach() * a)).of(a), a.value());
}

TEST(Backward, WantsOnlyWhatRequiresAGradient) {
  Variable a = leaf({2}, 1), constant = random_tensor({2}, 3);
  std::vector<bool> wanted;
  Variable y = GraphBuilder("asks", {a, constant})
                   .result(a.value(), [&](OutputGradients g, GradientSink& into) {
                     wanted = {into.wants(0), into.wants(1)};
                     into.add(0, g[0]);
                     into.add(1, g[0]);  // not asked for: dropped
                   });
  EXPECT_EQ(backward(sum(y)).size(), 1u);
  EXPECT_EQ(wanted, (std::vector<bool>{true, false}));
}

TEST(Backward, SumsOverBroadcastDimensions) {
  Variable column = leaf({3, 1}, 1), row = leaf({4}, 2), one = leaf({}, 3);
  Gradients g = backward(sum((column + row) * one));
  EXPECT_EQ(g.of(column).shape(), Shape({3, 1}));
  EXPECT_EQ(g.of(row).shape(), Shape({4}));
  EXPECT_EQ(g.of(one).shape(), Shape());
  EXPECT_NEAR(g.of(column).at({1, 0}), 4 * one.item(), 1e-6);
  EXPECT_NEAR(g.of(row).at({2}), 3 * one.item(), 1e-6);
}

/// Runs `body` on a thread whose stack holds no deep recursion.
void on_small_stack(void (*body)()) {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, 256 * 1024);
  pthread_t thread;
  auto run = [](void* f) -> void* {
    reinterpret_cast<void (*)()>(f)();
    return nullptr;
  };
  ASSERT_EQ(pthread_create(&thread, &attributes, run, reinterpret_cast<void*>(body)), 0);
  pthread_join(thread, nullptr);
  pthread_attr_destroy(&attributes);
}

TEST(Graph, AChainOfAMillionOpsIsBuiltWalkedAndTornDown) {
  on_small_stack([] {
    Variable w(Tensor::scalar(2), true);
    Variable y = w;
    for (int i = 0; i < 1'000'000; ++i) y = scale(y, i % 2 ? Real{2} : Real{0.5});
    EXPECT_EQ(y.item(), 2);
    EXPECT_EQ(backward(y).of(w).item(), 1);
    y = Variable();  // from the end
  });
}

TEST(Graph, ALongChainIsTornDownByWhoeverHoldsItLast) {
  on_small_stack([] {
    Variable w(Tensor::scalar(2), true);
    Variable y = w;
    std::vector<Variable> middle;
    for (int i = 0; i < 200'000; ++i) {
      Variable next = y + y;
      if (i % 50'000 == 0) middle.push_back(next);
      y = scale(next, 0.5);
    }
    middle.push_back(y);
    y = Variable();
    std::swap(middle.front(), middle.back());
    middle.clear();
  });
}

TEST(Graph, TwoThreadsShareParameters) {
  Variable w = leaf({16, 16}, 1), b = leaf({16}, 2);
  auto run = [&](uint64_t seed) {
    Variable x = random_tensor({8, 16}, seed);
    for (int i = 0; i < 4; ++i) x = tanh(linear(x, w, b));
    return backward(uneven_loss({x}));
  };
  std::vector<Gradients> alone;
  for (uint64_t seed = 0; seed < 2; ++seed) alone.push_back(run(seed));
  for (int round = 0; round < 20; ++round) {
    std::vector<Gradients> beside(2);
    std::thread one([&] { beside[0] = run(0); }), two([&] { beside[1] = run(1); });
    one.join();
    two.join();
    for (size_t i = 0; i < 2; ++i) {
      expect_same_bits(alone[i].of(w), beside[i].of(w));
      expect_same_bits(alone[i].of(b), beside[i].of(b));
    }
  }
}

TEST(Graph, TwoThreadsWalkOneGraph) {
  Variable w = leaf({16, 16}, 1), x = random_tensor({8, 16}, 3);
  for (int i = 0; i < 50; ++i) x = tanh(linear(x, w));
  Variable loss = uneven_loss({x});
  Gradients alone = backward(loss);
  std::vector<Gradients> beside(2);
  std::thread one([&] { beside[0] = backward(loss); }), two([&] { beside[1] = backward(loss); });
  one.join();
  two.join();
  expect_same_bits(alone.of(w), beside[0].of(w));
  expect_same_bits(alone.of(w), beside[1].of(w));
}

TEST(Graph, IntermediateGradientsAreFreedAsTheyAreConsumed) {
  const int64_t count = 1 << 16, bytes = count * static_cast<int64_t>(sizeof(Real));
  Variable w(Tensor::full({count}, 1), true);
  Variable y = w;
  for (int i = 0; i < 60; ++i) y = scale(y, 1);  // keeps no tensor
  Variable loss = sum(y);
  reset_memory_peak();
  uint64_t before = memory_counts().in_use_bytes;
  Gradients g = backward(loss);
  EXPECT_LE(memory_counts().peak_bytes - before, static_cast<uint64_t>(4 * bytes));
  EXPECT_LE(memory_counts().in_use_bytes - before, static_cast<uint64_t>(bytes + bytes / 2));
}

TEST(Graph, WhatBackwardNeedsIsFreedWithTheGraph) {
  Variable w = leaf({100, 100}, 1);
  uint64_t before = memory_counts().in_use_bytes;
  {
    Variable x = random_tensor({100, 100}, 2);
    for (int i = 0; i < 10; ++i) x = tanh(linear(x, w));
    EXPECT_GT(memory_counts().in_use_bytes, before + 10 * 100 * 100 * sizeof(Real));
  }
  EXPECT_EQ(memory_counts().in_use_bytes, before);
}

TEST(NoGrad, RecordsNothingOnThisThreadWhileItLives) {
  Variable w = leaf({2}, 1);
  {
    NoGrad outer;
    EXPECT_FALSE(recording());
    { NoGrad inner; }
    EXPECT_FALSE(recording()) << "the inner one switched recording back on";
    Variable y = w * w;
    EXPECT_FALSE(y.requires_grad());
    EXPECT_TRUE(y.is_leaf());
    EXPECT_TRUE(w.requires_grad());
    bool elsewhere = false;
    std::thread([&] { elsewhere = recording() && (w * w).requires_grad(); }).join();
    EXPECT_TRUE(elsewhere);
  }
  EXPECT_TRUE((w * w).requires_grad());
}

TEST(NoGrad, DropsWhatBackwardWouldKeep) {
  NoGrad no_history;
  uint64_t before = memory_counts().in_use_bytes;
  Variable x = leaf({1 << 14}, 1);
  for (int i = 0; i < 10; ++i) x = tanh(x);
  EXPECT_LE(memory_counts().in_use_bytes - before, 2u * (1 << 14) * sizeof(Real));
}

TEST(Backward, ErrorsSayWhatIsWrong) {
  Variable w = leaf({2, 3}, 1);
  EXPECT_EQ(error_text([&] { backward(w); }),
            "[backward] a loss has one element, this has shape (2, 3); sum it, or give a seed");
  EXPECT_EQ(error_text([&] { backward(Variable(Tensor::scalar(1))); }),
            "[backward] the result depends on nothing that requires a gradient");
  EXPECT_EQ(error_text([&] { backward(Variable()); }), "[backward] the result is undefined");
  EXPECT_EQ(error_text([&] {
              backward(w, Tensor::zeros({3, 2}));
            }),
            "[backward] the seed has shape (3, 2), the result (2, 3)");
  EXPECT_EQ(error_text([&] { scale(w, 2).leaf_value(); }),
            "[leaf_value] a result of scale is not a leaf");
}

TEST(Backward, AGradientOfTheWrongShapeNamesTheOp) {
  Variable w = leaf({2, 3}, 1);
  for (const Shape& wrong : {Shape{7}, Shape{3}, Shape{3, 2}, Shape{2, 1}, Shape{}}) {
    Variable y = GraphBuilder("crooked", {w, w})
                     .result(w.value(), [wrong](OutputGradients, GradientSink& into) {
                       into.add(1, Tensor::zeros(wrong));
                     });
    EXPECT_EQ(error_text([&] { backward(sum(y)); }),
              "[crooked] the gradient of input 1 has shape " + wrong.text() + ", the input (2, 3)");
  }
}

TEST(Ops, AMisfitNamesTheOpAndTheShapes) {
  Variable a = leaf({2, 3}, 1), b = leaf({4, 5}, 2);
  EXPECT_EQ(error_text([&] { matmul(a, b); }),
            "[matmul] inner sizes differ: (2, 3) x (4, 5); 3 must equal 4");
  EXPECT_NE(error_text([&] { linear(a, b); }).find("[linear] x (2, 3) does not fit weight (4, 5)"),
            std::string::npos);
  EXPECT_NE(error_text([&] { a + b; }).find("[add] shapes (2, 3) and (4, 5) do not broadcast"),
            std::string::npos);
  IdMatrix ids(1, 2, 0);
  ids.values = {1, 4};
  EXPECT_EQ(error_text([&] { embedding(b, ids); }),
            "[embedding] id 4 at (0, 1) is outside the table of 4 words");
  EXPECT_EQ(error_text([&] { dropout(a, 1.0, {}); }), "[dropout] p must be in [0, 1), but is 1");
}

}  // namespace
}  // namespace lookback
