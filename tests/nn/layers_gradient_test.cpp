#include <gtest/gtest.h>

#include "autograd/gradient_check.h"
#include "nn/embedding.h"
#include "nn/linear.h"
#include "nn/recurrent.h"
#include "support/random_tensor.h"
#include "support/registered.h"

namespace lookback {
namespace {

using testing::leaves_of;
using testing::random_tensor;

void expect_gradients(const std::function<std::vector<Variable>()>& function,
                      const std::vector<Variable>& leaves) {
  Gradients gradients = backward(uneven_loss(function()));
  for (size_t i = 0; i < leaves.size(); ++i)
    EXPECT_TRUE(gradients.contains(leaves[i])) << "leaf " << i << " gets no gradient";
  GradientCheck check = check_gradients_of(function, leaves);
  EXPECT_LT(check.worst, 2e-8) << check.where;
}

TEST(LayerGradient, RecurrentThroughTime) {
  const int64_t B = 3, S = 4, E = 2, D = 3;
  for (const std::string& cell : testing::all_cells())
    for (bool bidirectional : {false, true})
      for (int64_t layers : {1, 2})
        for (double dropout : {0.0, 0.4}) {
          if (dropout > 0 && layers == 1) continue;
          SCOPED_TRACE(::testing::Message()
                       << cell << " " << bidirectional << " " << layers << " " << dropout);
          Recurrent rnn({.cell = cell,
                         .input = E,
                         .hidden = D,
                         .layers = layers,
                         .bidirectional = bidirectional,
                         .dropout = dropout});
          rnn.initialize(1);
          std::vector<Variable> leaves = leaves_of(rnn);
          Variable x(random_tensor({B, S, E}, 2), true);
          leaves.push_back(x);
          std::vector<CellState> start;
          for (int64_t i = 0; i < layers * rnn.directions(); ++i) {
            start.push_back(
                {Variable(random_tensor({B, D}, 20 + static_cast<uint64_t>(i)), true), {}});
            leaves.push_back(start.back().hidden);
            if (!rnn.cell(0).has_cell()) continue;
            start.back().cell =
                Variable(random_tensor({B, D}, 30 + static_cast<uint64_t>(i)), true);
            leaves.push_back(start.back().cell);
          }
          Pass pass{.training = dropout > 0, .key = {.seed = 5}};
          expect_gradients(
              [&] {
                Recurrent::Output out = rnn(x, {2, 4, 1}, start, pass);
                std::vector<Variable> results{out.states};
                for (const CellState& last : out.last) {
                  results.push_back(last.hidden);
                  results.push_back(last.cell);
                }
                return results;
              },
              leaves);
        }
}

TEST(LayerGradient, CellStepsWithAKnownPart) {
  const int64_t B = 2, T = 3, D = 3;
  for (const std::string& kind : testing::all_cells()) {
    std::unique_ptr<Cell> cell = cells().get(kind)({.input = 5, .hidden = D});
    cell->initialize(1);
    Variable early(random_tensor({B, T, 2}, 2), true), late(random_tensor({B, 3}, 3), true);
    std::vector<Variable> leaves = leaves_of(*cell);
    leaves.push_back(early);
    leaves.push_back(late);
    expect_gradients(
        [&] {
          std::unique_ptr<Cell::Steps> steps = cell->steps(early);
          CellState state = cell->zeros(B);
          for (int64_t t = 0; t < T; ++t) state = steps->step(t, late, state);
          return std::vector<Variable>{state.hidden, state.cell};
        },
        leaves);
  }
}

TEST(LayerGradient, AttentionsWithTheirParameters) {
  const int64_t size = 4;
  for (const std::string& kind : testing::all_attentions()) {
    SCOPED_TRACE(kind);
    std::unique_ptr<Attention> attention =
        testing::make_attention(kind, {.query = size, .values = size});
    Variable values(random_tensor({3, 4, size}, 2), true);
    Variable queries(random_tensor({3, 2, size}, 3), true), last(random_tensor({3, size}, 4), true);
    std::vector<Variable> leaves = leaves_of(*attention);
    leaves.insert(leaves.end(), {values, queries, last});
    Mask mask = Mask::from_lengths({4, 1, 2}, 4);
    expect_gradients(
        [&] {
          // Keys are prepared once and asked twice, as in decoding.
          Attention::Keys keys = attention->prepare(values, mask);
          Attended many = attention->attend_all(queries, keys), one = attention->attend(last, keys);
          return std::vector<Variable>{many.context, many.weights, one.context, one.weights};
        },
        leaves);
  }
}

TEST(LayerGradient, LinearAndEmbedding) {
  Linear layer({.inputs = 3, .outputs = 2});
  Embedding table({.words = 5, .size = 3});
  layer.initialize(1);
  table.initialize(2);
  IdMatrix ids(2, 3, 0);
  ids.values = {1, 4, 1, 0, 2, 3};
  std::vector<Variable> leaves = leaves_of(layer);
  leaves.push_back(leaves_of(table)[0]);
  expect_gradients([&] { return std::vector<Variable>{tanh(layer(table(ids)))}; }, leaves);
}

}  // namespace
}  // namespace lookback
