#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <limits>

#include "autograd/gradient_check.h"
#include "core/safetensors.h"
#include "core/threads.h"
#include "support/random_tensor.h"
#include "support/registered.h"
#include "support/text_folder.h"
#include "train/checkpoint.h"

// What every registered cell and attention must hold. What cells hold over whole sentences stands in
// recurrent_test.cpp, over the same cells.

namespace lookback {
namespace {

using testing::all_attentions;
using testing::all_cells;
using testing::build_attention;
using testing::leaves_of;
using testing::random_tensor;

constexpr Real kNan = std::numeric_limits<Real>::quiet_NaN();

bool same(const Tensor& a, const Tensor& b) {
  return a.shape() == b.shape() && std::ranges::equal(a.values(), b.values());
}

void expect_near(const Tensor& a, const Tensor& b, double tolerance) {
  ASSERT_EQ(a.shape(), b.shape());
  for (int64_t i = 0; i < a.count(); ++i) ASSERT_NEAR(a.data()[i], b.data()[i], tolerance) << i;
}

/// Results, and the gradients of a layer's parameters and of these inputs.
std::vector<Tensor> with_gradients(const std::vector<Variable>& results, const Module& layer,
                                   const std::vector<Variable>& inputs) {
  std::vector<Tensor> out;
  for (const Variable& result : results)
    if (result.defined()) out.push_back(result.value());
  Gradients gradients = backward(uneven_loss(results));
  for (const Variable& leaf : leaves_of(layer)) out.push_back(gradients.of(leaf));
  for (const Variable& leaf : inputs) out.push_back(gradients.of(leaf));
  return out;
}

/// On 1, 2 and 5 threads all of `work`'s tensors are the same, bit for bit.
template <class Work>
void expect_threads_change_nothing(Work&& work) {
  set_threads(1);
  std::vector<Tensor> one = work();
  for (int team : {2, 5}) {
    set_threads(team);
    std::vector<Tensor> many = work();
    for (size_t i = 0; i < one.size(); ++i) EXPECT_TRUE(same(one[i], many[i])) << i << " " << team;
  }
  set_threads(available_cores());
}

/// Written to a file and read into a fresh layer that began otherwise, parameters are the same.
void expect_saved_and_loaded(const Module& layer, Module& other) {
  other.initialize(99);
  std::vector<NamedTensor> tensors;
  for (const Module::Named& p : layer.parameters()) tensors.push_back({p.name, p.variable.value()});
  TextFolder folder;
  save_tensors(folder.path("layer"), tensors, {});
  load_parameters(other, load_tensors(folder.path("layer")));
}

// --- cells

CellState state_of(const Cell& cell, int64_t batch, uint64_t seed) {
  CellState out{Variable(random_tensor({batch, cell.hidden()}, seed), true), {}};
  if (cell.has_cell()) out.cell = Variable(random_tensor({batch, cell.hidden()}, seed + 1), true);
  return out;
}

std::unique_ptr<Cell> make_cell(const std::string& kind, int64_t input, int64_t hidden) {
  std::unique_ptr<Cell> out = cells().get(kind)({.input = input, .hidden = hidden});
  out->initialize(3);
  return out;
}

TEST(CellContract, AStepHasTheStatesShapes) {
  for (const std::string& kind : all_cells()) {
    SCOPED_TRACE(kind);
    std::unique_ptr<Cell> cell = make_cell(kind, 3, 5);
    EXPECT_EQ(cell->input(), 3);
    EXPECT_EQ(cell->hidden(), 5);
    CellState zero = cell->zeros(4), next = cell->step(random_tensor({4, 3}, 1), zero);
    for (const CellState& state : {zero, next}) {
      EXPECT_EQ(state.hidden.shape(), Shape({4, 5}));
      ASSERT_EQ(state.cell.defined(), cell->has_cell());
      if (cell->has_cell()) {
        EXPECT_EQ(state.cell.shape(), Shape({4, 5}));
      }
    }
    Cell::Run run = cell->run(random_tensor({4, 6, 3}, 1), zero, {6, 1, 3, 2}, false);
    EXPECT_EQ(run.states.shape(), Shape({4, 6, 5}));
    EXPECT_EQ(run.last.hidden.shape(), Shape({4, 5}));
    EXPECT_EQ(run.last.cell.defined(), cell->has_cell());
  }
}

TEST(CellContract, AStepOfABatchIsTheStepOfEachSentence) {
  for (const std::string& kind : all_cells()) {
    SCOPED_TRACE(kind);
    std::unique_ptr<Cell> cell = make_cell(kind, 3, 5);
    Variable x = random_tensor({4, 3}, 1);
    CellState state = state_of(*cell, 4, 2), together = cell->step(x, state);
    for (int64_t b = 0; b < 4; ++b) {
      auto row = [&](const Variable& v) {
        return v.defined() ? Variable(v.value().rows(b, 1).clone()) : v;
      };
      CellState alone = cell->step(row(x), {row(state.hidden), row(state.cell)});
      expect_near(row(together.hidden).value(), alone.hidden.value(), 1e-6);
      if (cell->has_cell()) expect_near(row(together.cell).value(), alone.cell.value(), 1e-6);
    }
  }
}

TEST(CellContract, ThreadsChangeNoBit) {
  const int64_t batch = 24, length = 9, input = 40, hidden = 96;
  Lengths lengths;
  for (int64_t b = 0; b < batch; ++b) lengths.push_back(1 + b % length);
  for (const std::string& kind : all_cells()) {
    SCOPED_TRACE(kind);
    std::unique_ptr<Cell> cell = make_cell(kind, input, hidden);
    Variable x(random_tensor({batch, length, input}, 1), true);
    CellState start = state_of(*cell, batch, 2);
    expect_threads_change_nothing([&] {
      Cell::Run run = cell->run(x, start, lengths, true);
      return with_gradients({run.states, run.last.hidden, run.last.cell}, *cell, {x, start.hidden});
    });
  }
}

TEST(CellContract, AFileKeepsEveryBit) {
  for (const std::string& kind : all_cells()) {
    SCOPED_TRACE(kind);
    std::unique_ptr<Cell> cell = make_cell(kind, 3, 5), other = make_cell(kind, 3, 5);
    expect_saved_and_loaded(*cell, *other);
    Variable x = random_tensor({4, 3}, 1);
    CellState state = state_of(*cell, 4, 2);
    EXPECT_TRUE(same(cell->step(x, state).hidden.value(), other->step(x, state).hidden.value()));
  }
}

// --- attentions

constexpr int64_t D = 4;
const Mask kHoles(3, 5, {1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 1, 0, 1, 0});

std::unique_ptr<Attention> make(const std::string& kind, int64_t size = D) {
  return build_attention(kind, {.query = size, .values = size});
}

/// The values with this where the mask is false.
Tensor poisoned(const Tensor& values, const Mask& mask, Real with) {
  Tensor out = values.clone();
  for (int64_t b = 0; b < mask.rows(); ++b)
    for (int64_t s = 0; s < mask.columns(); ++s)
      if (!mask.at(b, s)) std::fill_n(out.data() + (b * mask.columns() + s) * D, D, with);
  return out;
}

TEST(AttentionContract, WeightsSumToOneOverWhatTheMaskAllows) {
  for (const std::string& kind : all_attentions()) {
    SCOPED_TRACE(kind);
    std::unique_ptr<Attention> attention = make(kind);
    Attention::Keys keys = attention->prepare(random_tensor({3, 5, D}, 1), kHoles);
    EXPECT_EQ(keys.values.shape(), Shape({3, 5, D}));
    Attended out = attention->attend(random_tensor({3, D}, 2), keys);
    ASSERT_EQ(out.context.shape(), Shape({3, D}));
    ASSERT_EQ(out.weights.shape(), Shape({3, 5}));
    for (int64_t b = 0; b < 3; ++b) {
      double total = 0;
      for (int64_t s = 0; s < 5; ++s) {
        Real weight = out.weights.value().at({b, s});
        total += weight;
        if (kHoles.at(b, s))
          EXPECT_GT(weight, 0);
        else
          EXPECT_EQ(weight, 0);
      }
      EXPECT_NEAR(total, 1, 1e-6);
      // The context is the weighted sum of what the keys call values.
      for (int64_t d = 0; d < D; ++d) {
        double mixed = 0;
        for (int64_t s = 0; s < 5; ++s)
          mixed += double{out.weights.value().at({b, s})} * keys.values.value().at({b, s, d});
        EXPECT_NEAR(out.context.value().at({b, d}), mixed, 1e-5);
      }
    }
  }
}

TEST(AttentionContract, ManyQueriesAreOneAfterAnother) {
  const int64_t T = 6;
  for (const std::string& kind : all_attentions()) {
    SCOPED_TRACE(kind);
    std::unique_ptr<Attention> attention = make(kind);
    Variable values(random_tensor({3, 5, D}, 1), true), queries(random_tensor({3, T, D}, 2), true);
    auto run = [&](auto&& attend) {
      Attended out = attend(attention->prepare(values, kHoles));
      return with_gradients({out.context, out.weights}, *attention, {values, queries});
    };
    std::vector<Tensor> many =
        run([&](const Attention::Keys& keys) { return attention->attend_all(queries, keys); });
    std::vector<Tensor> singly = run([&](const Attention::Keys& keys) {
      std::vector<Variable> contexts, weights;
      for (const Variable& query : unbind(queries, 1)) {
        Attended one = attention->attend(query, keys);
        contexts.push_back(one.context);
        weights.push_back(one.weights);
      }
      return Attended{stack(contexts, 1), stack(weights, 1)};
    });
    ASSERT_EQ(many[0].shape(), Shape({3, T, D}));
    ASSERT_EQ(many[1].shape(), Shape({3, T, 5}));
    for (size_t i = 0; i < many.size(); ++i) expect_near(many[i], singly[i], 1e-5);
  }
}

TEST(AttentionContract, ABatchIsItsSentencesOneByOneAndPaddingChangesNothing) {
  const Lengths lengths{5, 2, 4};
  for (const std::string& kind : all_attentions()) {
    SCOPED_TRACE(kind);
    std::unique_ptr<Attention> attention = make(kind);
    Tensor values = random_tensor({3, 5, D}, 1), queries = random_tensor({3, 2, D}, 2);
    Attended together =
        attention->attend_all(queries, attention->prepare(values, Mask::from_lengths(lengths, 5)));
    for (int64_t b = 0; b < 3; ++b) {
      int64_t length = lengths[static_cast<size_t>(b)];
      Tensor own = narrow(values.rows(b, 1).clone(), 1, 0, length).value();
      Attended alone =
          attention->attend_all(queries.rows(b, 1).clone(),
                                attention->prepare(own, Mask::from_lengths({length}, length)));
      expect_near(together.context.value().rows(b, 1), alone.context.value(), 1e-6);
      expect_near(narrow(together.weights, 2, 0, length).value().rows(b, 1), alone.weights.value(),
                  1e-6);
    }
  }
}

TEST(AttentionContract, WhatTheMaskHidesIsNotRead) {
  for (const std::string& kind : all_attentions()) {
    SCOPED_TRACE(kind);
    std::unique_ptr<Attention> attention = make(kind);
    Tensor values = random_tensor({3, 5, D}, 1);
    Variable queries(random_tensor({3, 2, D}, 2), true);
    auto run = [&](Real hidden) {
      Variable h(poisoned(values, kHoles, hidden), true);
      Attended out = attention->attend_all(queries, attention->prepare(h, kHoles));
      return with_gradients({out.context, out.weights}, *attention, {h, queries});
    };
    std::vector<Tensor> zero = run(0), large = run(1000), nan = run(kNan);
    for (size_t i = 0; i < zero.size(); ++i) EXPECT_TRUE(same(zero[i], large[i])) << i;
    // The gradient of a projection multiplies even what no query sees, and 0 times NaN is NaN: an
    // encoder's padding is zero, and only results are asked for here.
    for (size_t i : {0, 1}) EXPECT_TRUE(same(zero[i], nan[i])) << i;
  }
}

TEST(AttentionContract, ThreadsChangeNoBit) {
  const int64_t batch = 24, length = 30, size = 96;
  Lengths lengths;
  for (int64_t b = 0; b < batch; ++b) lengths.push_back(1 + b % length);
  for (const std::string& kind : all_attentions()) {
    SCOPED_TRACE(kind);
    std::unique_ptr<Attention> attention = make(kind, size);
    Variable values(random_tensor({batch, length, size}, 1), true),
        queries(random_tensor({batch, 12, size}, 2), true);
    expect_threads_change_nothing([&] {
      Attended out = attention->attend_all(
          queries, attention->prepare(values, Mask::from_lengths(lengths, length)));
      return with_gradients({out.context, out.weights}, *attention, {values, queries});
    });
  }
}

TEST(AttentionContract, AFileKeepsEveryBit) {
  for (const std::string& kind : all_attentions()) {
    SCOPED_TRACE(kind);
    std::unique_ptr<Attention> attention = make(kind), other = make(kind);
    expect_saved_and_loaded(*attention, *other);
    Tensor values = random_tensor({3, 5, D}, 1), query = random_tensor({3, D}, 2);
    EXPECT_TRUE(same(attention->attend(query, attention->prepare(values, kHoles)).context.value(),
                     other->attend(query, other->prepare(values, kHoles)).context.value()));
  }
}

}  // namespace
}  // namespace lookback
