#include "nn/embedding.h"
#include "nn/layer_norm.h"
#include "nn/linear.h"
#include "nn/recurrent.h"
#include "parity/parity.h"

// Layers against what PyTorch computed (layers.py).

namespace lookback {
namespace {

using testing::Parity;

/// Our last states, both directions side by side, stacked as PyTorch stacks them: (layers x
/// directions, B, D).
Variable stacked(const std::vector<CellState>& last, int64_t directions, int64_t units, bool cell) {
  std::vector<Variable> out;
  for (const CellState& state : last)
    for (int64_t d = 0; d < directions; ++d)
      out.push_back(narrow(cell ? state.cell : state.hidden, 1, d * units, units));
  return stack(out, 0);
}

TEST(Parity, RecurrentLayersOverPackedSentences) {
  for (const char* kind : {"rnn", "gru", "lstm"})
    for (int64_t layers : {1, 2, 3})
      for (bool both : {false, true}) {
        Parity c(format("{}_{}_{}", kind, layers, both ? "both" : "forward"));
        Variable x = c.input("x"), h0 = c.input("hidden");
        const int64_t units = h0.size(2);
        Recurrent rnn({.cell = kind,
                       .input = x.size(2),
                       .hidden = units,
                       .layers = layers,
                       .bidirectional = both});
        c.load(rnn);
        bool lstm = rnn.cell(0).has_cell();
        std::vector<Variable> hidden = unbind(h0, 0), cells;
        if (lstm) cells = unbind(c.input("cell"), 0);
        std::vector<CellState> start;
        for (size_t i = 0; i < hidden.size(); ++i)
          start.push_back({hidden[i], lstm ? cells[i] : Variable()});

        Recurrent::Output out = rnn(x, c.lengths(), start, {});
        c.result("states", out.states);
        c.result("last_hidden", stacked(out.last, rnn.directions(), units, false));
        if (lstm) c.result("last_cell", stacked(out.last, rnn.directions(), units, true));
        c.expect_gradients();
      }
}

TEST(Parity, Embedding) {
  Parity c("embedding");
  Embedding table({.words = 7, .size = 4});
  c.load(table);
  c.result("output", table(c.ids("ids")));
  c.expect_gradients();
}

TEST(Parity, Linear) {
  for (bool bias : {true, false}) {
    Parity c(bias ? "linear_bias" : "linear");
    Linear layer({.inputs = 5, .outputs = 4, .bias = bias});
    c.load(layer);
    c.result("output", layer(c.input("x")));
    c.expect_gradients();
  }
}

TEST(Parity, LayerNorm) {
  Parity c("layer_norm");
  LayerNorm norm({.size = 6});
  c.load(norm);
  c.result("output", norm(c.input("x")));
  c.expect_gradients();
}

}  // namespace
}  // namespace lookback
