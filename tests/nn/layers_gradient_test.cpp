#include <gtest/gtest.h>

#include <algorithm>

#include "autograd/gradient_check.h"
#include "nn/embedding.h"
#include "nn/linear.h"
#include "nn/recurrent.h"
#include "support/attentions.h"
#include "support/layers.h"
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

/// Two queries one after another, then both at once, of keys that are prepared once.
void expect_attention_gradients(const std::string& kind, const Attention::Sizes& sizes) {
  SCOPED_TRACE(kind);
  std::unique_ptr<Attention> attention = testing::build_attention(kind, sizes);
  Variable values(random_tensor({3, 4, sizes.values}, 2), true);
  std::vector<Variable> queries{Variable(random_tensor({3, sizes.query}, 3), true),
                                Variable(random_tensor({3, sizes.query}, 4), true)};
  std::vector<Variable> leaves = leaves_of(*attention);
  leaves.push_back(values);
  leaves.insert(leaves.end(), queries.begin(), queries.end());
  Mask mask = Mask::from_lengths({4, 1, 2}, 4);
  expect_gradients(
      [&] {
        Attention::Keys keys = attention->prepare(values, mask);
        std::vector<Variable> results;
        for (const Variable& query : queries) {
          Attended attended = attention->attend(query, keys);
          results.push_back(attended.context);
          results.push_back(attended.weights);
        }
        Attended all = attention->attend_all(stack(queries, 1), keys);
        results.push_back(all.context);
        results.push_back(all.weights);
        return results;
      },
      leaves);
}

TEST(LayerGradient, EveryAttentionWithItsParameters) {
  for (const std::string& kind : testing::attention_kinds(false))
    expect_attention_gradients(kind, {.query = 3, .values = 5});
  for (const std::string& kind : testing::attention_kinds(true))
    expect_attention_gradients(kind, {.query = 3, .values = 3});
}

TEST(LayerGradient, NoRegisteredAttentionIsMissingAbove) {
  std::vector<std::string> kinds = testing::attention_kinds(true);
  for (const std::string& name : attentions().names())
    EXPECT_TRUE(std::any_of(kinds.begin(), kinds.end(),
                            [&](const std::string& kind) {
                              return kind == "type: " + name ||
                                     kind.starts_with("type: " + name + ",");
                            }))
        << name << " has no line in attention_kinds()";
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
