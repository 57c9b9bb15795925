#include <gtest/gtest.h>

#include <fstream>
#include <regex>
#include <set>
#include <sstream>

#include "autograd/gradient_check.h"
#include "autograd/ops.h"
#include "support/random_tensor.h"

// Every op of autograd/ops.h has a test here of the name OpGradient.<op>; the last test of this
// file fails where one is missing.

namespace lookback {
namespace {

using testing::random_tensor;
using Inputs = std::vector<Variable>;

template <class F>
void expect_gradients(F&& function, const std::vector<Tensor>& inputs, double tolerance = 2e-8) {
  GradientCheck check = check_gradients(
      [&](const Inputs& in) -> std::vector<Variable> {
        if constexpr (std::is_convertible_v<decltype(function(in)), Variable>)
          return {function(in)};
        else
          return function(in);
      },
      inputs);
  EXPECT_LT(check.worst, tolerance) << check.where;
}

Tensor r(const Shape& shape, uint64_t seed = 1) {
  return random_tensor(shape, seed);
}

TEST(OpGradient, add) {
  expect_gradients([](const Inputs& in) { return in[0] + in[1]; }, {r({2, 3}), r({2, 3}, 2)});
  expect_gradients([](const Inputs& in) { return in[0] + in[1]; }, {r({2, 4, 3}), r({3}, 2)});
  expect_gradients([](const Inputs& in) { return in[0] + in[1]; }, {r({2, 1, 3}), r({4, 1}, 2)});
  expect_gradients([](const Inputs& in) { return in[0] + in[0]; }, {r({2, 3})});
}

TEST(OpGradient, subtract) {
  expect_gradients([](const Inputs& in) { return in[0] - in[1]; }, {r({2, 3}), r({2, 3}, 2)});
  expect_gradients([](const Inputs& in) { return in[0] - in[1]; }, {r({1, 3}), r({2, 1}, 2)});
}

TEST(OpGradient, multiply) {
  expect_gradients([](const Inputs& in) { return in[0] * in[1]; }, {r({2, 3}), r({2, 3}, 2)});
  expect_gradients([](const Inputs& in) { return in[0] * in[1]; }, {r({}), r({2, 2}, 2)});
  expect_gradients([](const Inputs& in) { return in[0] * in[0]; }, {r({2, 3})});
}

TEST(OpGradient, scale) {
  expect_gradients([](const Inputs& in) { return scale(in[0], -2.5); }, {r({2, 3})});
}

TEST(OpGradient, tanh) {
  expect_gradients([](const Inputs& in) { return tanh(in[0]); }, {random_tensor({4, 5}, 1, -3, 3)});
}

TEST(OpGradient, sigmoid) {
  expect_gradients([](const Inputs& in) { return sigmoid(in[0]); },
                   {random_tensor({4, 5}, 1, -5, 5)});
}

TEST(OpGradient, relu) {
  expect_gradients([](const Inputs& in) { return relu(in[0]); }, {r({4, 5})});
}

TEST(OpGradient, gelu) {
  expect_gradients([](const Inputs& in) { return gelu(in[0]); }, {random_tensor({4, 5}, 1, -4, 4)});
}

TEST(OpGradient, layer_norm) {
  expect_gradients([](const Inputs& in) { return layer_norm(in[0], in[1], in[2], 1e-5); },
                   {r({70, 2, 5}), r({5}, 2), r({5}, 3)});
  expect_gradients([](const Inputs& in) { return layer_norm(in[0], {}, {}, 1e-5); }, {r({3, 9})});
  expect_gradients([](const Inputs& in) { return layer_norm(in[0], {}, in[1], 1e-5); },
                   {r({3, 4}), r({4}, 2)});
}

TEST(OpGradient, exp) {
  expect_gradients([](const Inputs& in) { return exp(in[0]); }, {r({4, 5})});
}

TEST(OpGradient, log) {
  expect_gradients([](const Inputs& in) { return log(in[0]); }, {random_tensor({4, 5}, 1, 0.5, 3)});
}

TEST(OpGradient, matmul) {
  auto product = [](const Inputs& in) { return matmul(in[0], in[1]); };
  expect_gradients(product, {r({2, 3}), r({3, 4}, 2)});
  expect_gradients(product, {r({2, 5, 3}), r({3, 4}, 2)});
  expect_gradients(product, {r({2, 3, 2, 4}), r({2, 3, 4, 3}, 2)});
}

TEST(OpGradient, linear) {
  expect_gradients([](const Inputs& in) { return linear(in[0], in[1], in[2]); },
                   {r({2, 2, 3}), r({4, 3}, 2), r({4}, 3)});
  expect_gradients([](const Inputs& in) { return linear(in[0], in[1]); },
                   {r({2, 3}), r({4, 3}, 2)});
  // One weight used twice: the second product adds to the first.
  expect_gradients([](const Inputs& in) { return linear(tanh(linear(in[0], in[1])), in[1]); },
                   {r({2, 3}), r({3, 3}, 2)});
}

TEST(OpGradient, linear_by_a_shared_weight) {
  auto twice = [](const Inputs& in) {
    SharedWeight weight(in[1]);
    return linear(linear_add(in[0], weight, in[2]), weight, in[3]);
  };
  expect_gradients(twice, {r({3, 4}), r({4, 4}, 2), r({3, 4}, 3), r({4}, 4)});
}

TEST(OpGradient, linear_add) {
  expect_gradients([](const Inputs& in) { return linear_add(in[0], in[1], in[2]); },
                   {r({2, 3}), r({4, 3}, 2), r({2, 4}, 3)});
}

TEST(OpGradient, reshape) {
  expect_gradients([](const Inputs& in) { return reshape(in[0], {3, 4}); }, {r({2, 6})});
}

TEST(OpGradient, transpose) {
  expect_gradients([](const Inputs& in) { return transpose(in[0], 0, 2); }, {r({2, 3, 4})});
  expect_gradients([](const Inputs& in) { return transpose(in[0], -1, 1); }, {r({2, 3, 2, 4})});
}

TEST(OpGradient, concat) {
  expect_gradients([](const Inputs& in) { return concat(in, 1); }, {r({2, 3, 2}), r({2, 1, 2}, 2)});
  expect_gradients([](const Inputs& in) { return concat(in, -1); },
                   {r({2, 3}), r({2, 2}, 2), r({2, 1}, 3)});
}

TEST(OpGradient, narrow) {
  expect_gradients([](const Inputs& in) { return narrow(in[0], 1, 1, 2); }, {r({2, 4, 3})});
  expect_gradients([](const Inputs& in) { return narrow(in[0], 0, 0, 1) + narrow(in[0], 0, 1, 1); },
                   {r({2, 3})});
}

TEST(OpGradient, stack) {
  expect_gradients([](const Inputs& in) { return stack(in, 1); }, {r({2, 3}), r({2, 3}, 2)});
  expect_gradients([](const Inputs& in) { return stack(in, -1); }, {r({2, 3}), r({2, 3}, 2)});
}

TEST(OpGradient, unbind) {
  expect_gradients([](const Inputs& in) { return unbind(in[0], 1); }, {r({2, 3, 4})});
  // A part that nothing uses has gradient zero.
  expect_gradients([](const Inputs& in) { return unbind(in[0], 1)[1]; }, {r({2, 3, 4})});
}

TEST(OpGradient, choose_rows) {
  std::vector<uint8_t> take{1, 0, 1};
  expect_gradients([&](const Inputs& in) { return choose_rows(take, in[0], in[1]); },
                   {r({3, 2}), r({3, 2}, 2)});
}

TEST(OpGradient, sum) {
  expect_gradients([](const Inputs& in) { return sum(in[0] * in[0]); }, {r({2, 3})});
}

TEST(OpGradient, mean) {
  expect_gradients([](const Inputs& in) { return mean(in[0] * in[0]); }, {r({2, 3})});
}

TEST(OpGradient, softmax) {
  expect_gradients([](const Inputs& in) { return softmax(in[0]); },
                   {random_tensor({3, 9}, 1, -3, 3)});
  Mask padded(3, 4, {1, 1, 0, 0, 1, 1, 1, 1, 0, 0, 0, 0});
  expect_gradients([&](const Inputs& in) { return softmax(in[0], padded); }, {r({3, 4})});
  Mask holes(2, 4, {0, 1, 0, 1, 1, 0, 1, 1});
  expect_gradients([&](const Inputs& in) { return softmax(in[0], holes); }, {r({2, 4})});
}

TEST(OpGradient, log_softmax) {
  expect_gradients([](const Inputs& in) { return log_softmax(in[0]); },
                   {random_tensor({3, 9}, 1, -3, 3)});
}

TEST(OpGradient, embedding_by_word) {
  IdMatrix ids(2, 4, 0);
  ids.values = {1, 4, 1, 0, 1, 4, 4, 1};
  expect_gradients([&](const Inputs& in) { return embedding_by_word(in[0], ids); }, {r({5, 3})});
}

TEST(OpGradient, embedding) {
  IdMatrix ids(2, 3, 0);
  ids.values = {1, 4, 1, 0, 1, 3};
  expect_gradients([&](const Inputs& in) { return embedding(in[0], ids); }, {r({5, 3})});
}

/// 20 rows of a table of 4, row 2 not among them.
std::vector<Id> repeats() {
  std::vector<Id> index;
  for (Id i = 0; i < 20; ++i) index.push_back(i % 7 == 0 ? 3 : i % 2);
  return index;
}

Variable gathered(const Variable& table, const Shape& shape) {
  return gather(std::make_shared<Gathered>(Gathered{table, repeats()}), shape);
}

TEST(OpGradient, gather) {
  expect_gradients([](const Inputs& in) { return gathered(in[0], {4, 5, 3}); }, {r({4, 3})});
  // A linear map of it, and one of that, are worked out row by row of the table.
  expect_gradients(
      [](const Inputs& in) {
        Variable x = gathered(in[0], {4, 5, 3});
        return linear(linear(x, in[1], in[2]), in[3]) + x;
      },
      {r({4, 3}), r({5, 3}, 2), r({5}, 3), r({3, 5}, 4)});
}

TEST(OpGradient, dropout) {
  RandomKey key{.seed = 3, .purpose = purpose("test")};
  expect_gradients([&](const Inputs& in) { return dropout(in[0], 0.4, key); }, {r({6, 5})});
}

TEST(OpGradient, cross_entropy) {
  IdMatrix targets(2, 3, 0);
  targets.values = {1, 4, 0, 2, 0, 0};
  for (double smoothing : {0.0, 0.1})
    expect_gradients(
        [&](const Inputs& in) {
          return cross_entropy(in[0], targets,
                               {.ignore = 0, .divide_by = 3, .label_smoothing = smoothing});
        },
        {random_tensor({2, 3, 5}, 1, -3, 3)});
}

TEST(OpGradient, linear_cross_entropy) {
  IdMatrix targets(2, 3, 0);
  targets.values = {1, 4, 0, 2, 0, 0};
  for (double smoothing : {0.0, 0.1}) {
    CrossEntropyOptions options{.ignore = 0, .divide_by = 3, .label_smoothing = smoothing};
    auto loss = [&](const LinearLogits& in) {
      return linear_cross_entropy(in, targets, options).loss;
    };
    expect_gradients(
        [&](const Inputs& in) {
          return loss({tanh(in[0]), in[1], in[2], in[3]});
        },
        {r({2, 3, 4}), r({5, 4}, 2), r({5}, 3), r({2, 5}, 4)});
    expect_gradients(
        [&](const Inputs& in) {
          return loss({in[0], in[1], {}, {}});
        },
        {r({6, 4}), r({5, 4}, 2)});
    // Beside another use of the same inputs.
    expect_gradients(
        [&](const Inputs& in) {
          Variable x = matmul(in[0], in[1]);
          return std::vector<Variable>{loss({x, in[1], {}, {}}), x};
        },
        {r({2, 3, 5}), r({5, 5}, 2)});
  }
}

TEST(OpGradient, rnn_gates) {
  expect_gradients([](const Inputs& in) { return rnn_gates(in[0], in[1]); },
                   {r({2, 5}), r({2, 5}, 2)});
}

TEST(OpGradient, gru_gates) {
  expect_gradients([](const Inputs& in) { return gru_gates(in[0], in[1], in[2]); },
                   {r({2, 15}), r({2, 15}, 2), r({2, 5}, 3)});
}

TEST(OpGradient, lstm_gates) {
  auto both = [](const Inputs& in) -> std::vector<Variable> {
    LstmState state = lstm_gates(in[0], in[1], in[2]);
    return {state.hidden, state.cell};
  };
  std::vector<Tensor> inputs{r({2, 20}), r({2, 20}, 2), r({2, 5}, 3)};
  expect_gradients(both, inputs);
  expect_gradients([](const Inputs& in) { return lstm_gates(in[0], in[1], in[2]).hidden; }, inputs);
  expect_gradients([](const Inputs& in) { return lstm_gates(in[0], in[1], in[2]).cell; }, inputs);
}

TEST(OpGradient, recurrent_sequence) {
  const int64_t B = 4, S = 5, E = 3, D = 5;
  for (CellKind kind : {CellKind::kRnn, CellKind::kGru, CellKind::kLstm})
    for (auto [reverse, words] :
         {std::pair{false, false}, {true, false}, {false, true}, {true, true}})
      for (Lengths lengths : {Lengths{3, 5, 0, 1}, Lengths{5, 5, 5, 5}}) {
        int64_t G = D * (kind == CellKind::kLstm ? 4 : kind == CellKind::kGru ? 3 : 1);
        std::vector<Tensor> inputs{words ? r({4, E}) : r({B, S, E}),
                                   r({G, E}, 2),
                                   r({G, D}, 3),
                                   r({G}, 4),
                                   r({G}, 5),
                                   r({B, D}, 6)};
        if (kind == CellKind::kLstm) inputs.push_back(r({B, D}, 7));
        auto run = [&, words = words, reverse = reverse](const Inputs& in) {
          SequenceInput s{.cell = kind,
                          .x = words ? gathered(in[0], {B, S, E}) : in[0],
                          .weight_ih = in[1],
                          .weight_hh = in[2],
                          .bias_ih = in[3],
                          .bias_hh = in[4],
                          .hidden = in[5],
                          .cell_state = in.size() > 6 ? in[6] : Variable(),
                          .lengths = lengths,
                          .reverse = reverse};
          return recurrent_sequence(s);
        };
        SCOPED_TRACE(::testing::Message() << "cell " << static_cast<int>(kind) << " reverse "
                                          << reverse << " words " << words);
        expect_gradients(
            [&](const Inputs& in) -> std::vector<Variable> {
              SequenceOutput out = run(in);
              return {out.states, out.last, out.last_cell};
            },
            inputs);
        expect_gradients([&](const Inputs& in) { return run(in).last; }, inputs);
        expect_gradients([&](const Inputs& in) { return run(in).states; }, inputs);
      }
}

TEST(OpGradient, heads) {
  expect_gradients(
      [](const Inputs& in) {
        return dot_product_attention(heads(in[0]), heads(in[1], 2, 3, 1), heads(in[1], 2, 3, 2))
            .context;
      },
      {r({2, 2, 3, 3}), r({2, 3, 8}, 2)});
}

TEST(OpGradient, dot_product_attention) {
  Mask padded = Mask::from_lengths({4, 2}, 4), holes(2, 4, {1, 0, 1, 1, 0, 1, 1, 0});
  for (AttentionWay way : {AttentionWay::kMaterialised, AttentionWay::kBlockwise})
    for (const Mask& mask : {Mask(), padded, holes, Mask::causal(), padded.and_causal()})
      for (double dropout : {0.0, 0.3})
        expect_gradients(
            [&](const Inputs& in) {
              Attended out = dot_product_attention(heads(in[0]), heads(in[1]), heads(in[2]),
                                                   {.mask = mask,
                                                    .way = way,
                                                    .weights = true,
                                                    .dropout = dropout,
                                                    .key = {.seed = 5}});
              return std::vector<Variable>{out.context, out.weights};
            },
            {r({2, 4, 3, 3}), r({2, 2, 4, 3}, 2), r({2, 2, 4, 2}, 3)});
  // One tensor as queries, keys and values: side by side, and all from the same columns.
  for (AttentionWay way : {AttentionWay::kMaterialised, AttentionWay::kBlockwise})
    for (const Mask& mask : {Mask(), padded, holes.and_causal()})
      for (bool weights : {false, true}) {  // a gradient that reaches one result alone
        DotProductOptions options{.mask = mask, .way = way, .weights = weights, .dropout = 0.2};
        auto one = [&](const Heads& query, const Heads& key, const Heads& value) {
          Attended out = dot_product_attention(query, key, value, options);
          return weights ? out.weights : out.context;
        };
        expect_gradients(
            [&](const Inputs& in) {
              return one(heads(in[0], 4, 2), heads(in[0], 2, 2, 8), heads(in[0], 2, 3, 12));
            },
            {r({2, 4, 18})});
        expect_gradients(
            [&](const Inputs& in) {
              return one(heads(in[0], 2, 3), heads(in[0], 2, 3), heads(in[0], 2, 3));
            },
            {r({2, 4, 6})});
      }
}

TEST(OpGradient, additive_attention) {
  const int64_t B = 3, S = 4, A = 5, D = 3;
  Mask mask(B, S, {1, 1, 1, 1, 1, 1, 0, 0, 0, 1, 0, 1});
  std::vector<Tensor> inputs{r({B, A}), r({B, S, A}, 2), r({A}, 3), r({B, S, D}, 4)};
  auto run = [&](const Inputs& in) { return additive_attention(in[0], in[1], in[2], in[3], mask); };
  expect_gradients(
      [&](const Inputs& in) -> std::vector<Variable> {
        Attended out = run(in);
        return {out.context, out.weights};
      },
      inputs);
  expect_gradients([&](const Inputs& in) { return run(in).context; }, inputs);
  expect_gradients([&](const Inputs& in) { return run(in).weights; }, inputs);
  // Keys that also are the values, as when nothing projects them.
  expect_gradients(
      [&](const Inputs& in) {
        return additive_attention(in[0], in[1], in[2], in[1], mask).context;
      },
      {inputs[0], inputs[1], inputs[2]});
  // Many queries a sentence.
  inputs[0] = r({B, 2, A});
  expect_gradients(
      [&](const Inputs& in) -> std::vector<Variable> {
        Attended out = run(in);
        return {out.context, out.weights};
      },
      inputs);
}

TEST(OpGradient, every_op_has_a_check) {
  auto read = [](const char* path) {
    std::ifstream in(std::string(LOOKBACK_SOURCE_DIR) + path);
    std::stringstream text;
    text << in.rdbuf();
    return text.str();
  };
  std::string header = read("/autograd/ops.h"),
              tests = read("/tests/autograd/ops_gradient_test.cpp");
  std::regex declaration(R"(\n[A-Z][\w:<>]* ([a-z_]+)\((?=const|std::span))");
  std::set<std::string> ops;
  for (std::sregex_iterator it(header.begin(), header.end(), declaration), end; it != end; ++it)
    ops.insert((*it)[1]);
  EXPECT_GE(ops.size(), 30u) << "the pattern no longer finds the declarations";
  for (const std::string& op : ops)
    EXPECT_NE(tests.find("TEST(OpGradient, " + op + ")"), std::string::npos)
        << op << " has no gradient check";
}

}  // namespace
}  // namespace lookback
