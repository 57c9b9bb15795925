#include <gtest/gtest.h>

#include "autograd/ops.h"
#include "autograd/ops/gather_rows.h"
#include "core/gemm.h"
#include "core/threads.h"
#include "support/error_text.h"
#include "support/random_tensor.h"

// Word vectors that repeat are multiplied once a word; nothing but the work may tell.

namespace lookback {
namespace {

using testing::error_text;
using testing::random_tensor;

const int64_t kSentences = 6, kTokens = 9, kUnits = 8, kHidden = 7;

IdMatrix text(int64_t words) {
  IdMatrix ids(kSentences, kTokens, 0);
  for (size_t i = 0; i < ids.values.size(); ++i)
    ids.values[i] = static_cast<Id>((i * i + 3 * i) % static_cast<size_t>(words));
  return ids;
}

TEST(Gather, AnEmbeddingKnowsWhereItsRowsRepeat) {
  Tensor table = random_tensor({100, kUnits}, 1);
  Variable many = embedding_by_word(table, text(11));
  ASSERT_NE(many.gathered(), nullptr);
  EXPECT_LE(many.gathered()->table.size(0), 11);
  for (size_t i = 0; i < many.gathered()->index.size(); ++i)
    for (int64_t j = 0; j < kUnits; ++j)
      ASSERT_EQ(many.gathered()->table.value().at({many.gathered()->index[i], j}),
                table.at({text(11).values[i], j}));
  EXPECT_EQ(tanh(many).gathered(), nullptr) << "another op's result";
  IdMatrix all_different(2, 3, 0);
  all_different.values = {0, 1, 2, 3, 4, 5};
  EXPECT_EQ(embedding_by_word(table, all_different).gathered(), nullptr);
  EXPECT_EQ(embedding_by_word(table, IdMatrix(40, 1, 3)).gathered(), nullptr) << "of one step";
  EXPECT_EQ(embedding_by_word(table, IdMatrix(0, 5, 0)).gathered(), nullptr);
  EXPECT_EQ(embedding(table, text(11)).gathered(), nullptr);
  EXPECT_EQ(many.detach().gathered(), nullptr);
  NoGrad no_history;
  Variable constant = embedding_by_word(table, text(11));
  constant.leaf_value().fill(0);
  EXPECT_EQ(constant.gathered(), nullptr) << "its rows were changed";
}

/// Results and gradients of `function` of word vectors, of a table and of what else is given.
template <class F>
std::vector<Tensor> outcome(F&& function, std::vector<Variable> leaves, bool known) {
  Variable x = embedding_by_word(leaves[0], text(11));
  EXPECT_NE(x.gathered(), nullptr);
  // A reshaped tensor no longer knows.
  Variable y = function(known ? x : reshape(x, x.shape()), leaves);
  Gradients gradients = backward(y, random_tensor(y.shape(), 9));
  std::vector<Tensor> out{y.value()};
  for (const Variable& leaf : leaves) out.push_back(gradients.of(leaf));
  return out;
}

template <class F>
void expect_no_difference(F&& function, const std::vector<Shape>& shapes) {
  std::vector<Variable> leaves;
  for (size_t i = 0; i < shapes.size(); ++i)
    leaves.emplace_back(random_tensor(shapes[i], i + 1), true);
  uint64_t start = gemm_flops();
  std::vector<Tensor> known = outcome(function, leaves, true);
  uint64_t of_known = gemm_flops() - start;
  std::vector<Tensor> plain = outcome(function, leaves, false);
  EXPECT_LT(of_known, gemm_flops() - start - of_known);
  for (size_t i = 0; i < known.size(); ++i)
    for (int64_t j = 0; j < known[i].count(); ++j)
      ASSERT_NEAR(known[i].data()[j], plain[i].data()[j], 2e-5) << "tensor " << i << " at " << j;
}

TEST(Gather, ALinearMapIsThatOfEachRow) {
  expect_no_difference(
      [](const Variable& x, const std::vector<Variable>& in) {
        return tanh(linear(x, in[1], in[2])) * linear(x, in[1]);
      },
      {{40, kUnits}, {kHidden, kUnits}, {kHidden}});
}

TEST(Gather, ASequenceIsThatOfItsVectors) {
  for (CellKind kind : {CellKind::kRnn, CellKind::kGru, CellKind::kLstm})
    for (bool reverse : {false, true}) {
      int64_t gates = gate_count(kind) * kHidden;
      expect_no_difference(
          [&](const Variable& x, const std::vector<Variable>& in) {
            return recurrent_sequence({.cell = kind,
                                       .x = x,
                                       .weight_ih = in[1],
                                       .weight_hh = in[2],
                                       .bias_ih = in[3],
                                       .bias_hh = in[4],
                                       .hidden = {},
                                       .cell_state = {},
                                       .lengths = {9, 4, 0, 1, 9, 7},
                                       .reverse = reverse})
                .states;
          },
          {{40, kUnits}, {gates, kUnits}, {gates, kHidden}, {gates}, {gates}});
    }
}

TEST(Gather, TheOrderOfSumsDoesNotDependOnThreads) {
  const int64_t rows = 5000, words = 40, width = 300;
  Tensor table = random_tensor({words, width}, 1), x = random_tensor({rows, width}, 2);
  std::vector<Id> index;
  for (int64_t i = 0; i < rows; ++i) index.push_back(static_cast<Id>((i * i + i) % words));
  std::vector<Tensor> taken, added;
  int before = threads();
  for (int count : {1, 2, 5}) {
    set_threads(count);
    taken.emplace_back(Shape{rows, width});
    added.push_back(table.clone());
    gather_rows(std::as_const(table).data(), index, width, taken.back().data());
    scatter_add_rows(std::as_const(x).data(), index, width, added.back().data());
  }
  set_threads(before);
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < width; ++j)
      for (const Tensor& t : taken)
        ASSERT_EQ(t.at({i, j}), table.at({index[static_cast<size_t>(i)], j}));
  for (int64_t w = 0; w < words; ++w)
    for (int64_t j = 0; j < width; ++j) {
      Real sum = table.at({w, j});
      for (int64_t i = 0; i < rows; ++i)
        if (index[static_cast<size_t>(i)] == w) sum += x.at({i, j});
      for (const Tensor& t : added) ASSERT_EQ(t.at({w, j}), sum) << w << " " << j;
    }
}

TEST(Gather, ErrorsNameWhatDoesNotFit) {
  Variable table = random_tensor({4, 3}, 1);
  auto refusal = [&](std::vector<Id> index, const Shape& shape) {
    return error_text([&] { gather(std::make_shared<Gathered>(Gathered{table, index}), shape); });
  };
  EXPECT_EQ(refusal({0, 4}, {2, 3}), "[gather] row 4 is outside the table (4, 3)");
  EXPECT_EQ(refusal({0, -1}, {2, 3}), "[gather] row -1 is outside the table (4, 3)");
  EXPECT_EQ(refusal({0, 1}, {3, 3}), "[gather] 2 rows of (4, 3) are not (3, 3)");
  EXPECT_EQ(refusal({0, 1}, {2, 4}), "[gather] 2 rows of (4, 3) are not (2, 4)");
  // What is mapped is told by its own shape, not by the table's.
  Variable words = embedding_by_word(table, IdMatrix(2, 5, 1));
  EXPECT_EQ(
      error_text([&] {
        linear(words, random_tensor({7, 2}, 1));
      }),
      "[linear] x (2, 5, 3) does not fit weight (7, 2) of (outputs, inputs): the last size of x "
      "must equal the weight's");
}

}  // namespace
}  // namespace lookback
