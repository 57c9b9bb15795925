#include <gtest/gtest.h>

#include <cmath>

#include "autograd/ops.h"
#include "core/safetensors.h"
#include "nn/embedding.h"
#include "nn/linear.h"
#include "nn/recurrent.h"

// Holds layers against what PyTorch computed: tests/parity/make_numbers.py wrote the numbers.

namespace lookback {
namespace {

const TensorFile& numbers() {
  static const TensorFile file =
      load_tensors(LOOKBACK_SOURCE_DIR "/tests/parity/numbers.safetensors");
  return file;
}

/// One case: its tensors by name, and the gradients of the loss sum_i c_i y_i that its results
/// define.
class Case {
 public:
  explicit Case(std::string name) : name_(std::move(name)) {}

  const Tensor& get(const std::string& name) const { return numbers().get(name_ + "/" + name); }
  Variable leaf(const std::string& name) {
    leaves_.push_back({name, Variable(get(name).clone(), true), {}});
    return leaves_.back().variable;
  }
  void load(Module& module) {
    for (Module::Named& p : module.parameters()) {
      p.variable.leaf_value().copy_from(get(p.name));
      leaves_.push_back(p);
    }
  }
  IdMatrix ids(const std::string& name) const {
    const Tensor& t = get(name);
    IdMatrix out(t.size(0), t.size(1), 0);
    for (int64_t i = 0; i < t.count(); ++i)
      out.values[static_cast<size_t>(i)] = static_cast<Id>(t.data()[i]);
    return out;
  }

  /// Holds a result against PyTorch's and lets it count in the loss.
  void result(const std::string& name, const Variable& ours) {
    expect_equal(name, ours.value(), get(name));
    Variable part = sum(ours * Variable(get("coefficient." + name)));
    loss_ = loss_.defined() ? loss_ + part : part;
  }
  void expect_gradients() {
    Gradients gradients = backward(loss_);
    for (const Module::Named& leaf : leaves_)
      expect_equal("gradient." + leaf.name, gradients.of(leaf.variable),
                   get("gradient." + leaf.name));
  }

 private:
  /// Within 1e-5 of each number, or of the tensor's largest where the number itself is small.
  void expect_equal(const std::string& name, const Tensor& ours, const Tensor& theirs) {
    SCOPED_TRACE(name_ + "/" + name);
    ASSERT_TRUE(ours.defined());
    ASSERT_EQ(ours.shape(), theirs.shape());
    double largest = 0;
    for (Real value : theirs.values()) largest = std::max<double>(largest, std::abs(value));
    for (int64_t i = 0; i < ours.count(); ++i)
      ASSERT_NEAR(ours.data()[i], theirs.data()[i],
                  1e-5 * std::abs(theirs.data()[i]) + 1e-6 * largest)
          << i;
  }

  std::string name_;
  std::vector<Module::Named> leaves_;
  Variable loss_;
};

/// (layers x directions, B, D), as PyTorch stacks states -> one state each.
std::vector<Variable> unstack(const Variable& states) {
  return unbind(states, 0);
}

/// Our last states, both directions side by side, stacked as PyTorch stacks them.
Variable stacked(const std::vector<CellState>& last, int64_t directions, int64_t units, bool cell) {
  std::vector<Variable> out;
  for (const CellState& state : last)
    for (int64_t d = 0; d < directions; ++d)
      out.push_back(narrow(cell ? state.cell : state.hidden, 1, d * units, units));
  return stack(out, 0);
}

TEST(Parity, RecurrentLayersOverPackedSentences) {
  for (const char* kind : {"rnn", "gru", "lstm"})
    for (int64_t layers : {1, 2})
      for (bool both : {false, true}) {
        Case c(format("{}_{}_{}", kind, layers, both ? "both" : "forward"));
        const int64_t units = c.get("hidden").size(2);
        Recurrent rnn({.cell = kind,
                       .input = c.get("x").size(2),
                       .hidden = units,
                       .layers = layers,
                       .bidirectional = both});
        c.load(rnn);
        Lengths lengths;
        for (Real length : c.get("lengths").values())
          lengths.push_back(static_cast<int64_t>(length));
        bool lstm = rnn.cell(0).has_cell();
        std::vector<Variable> hidden = unstack(c.leaf("hidden")), cells;
        if (lstm) cells = unstack(c.leaf("cell"));
        std::vector<CellState> start;
        for (size_t i = 0; i < hidden.size(); ++i)
          start.push_back({hidden[i], lstm ? cells[i] : Variable()});

        Recurrent::Output out = rnn(c.leaf("x"), lengths, start, {});
        c.result("states", out.states);
        c.result("last_hidden", stacked(out.last, rnn.directions(), units, false));
        if (lstm) c.result("last_cell", stacked(out.last, rnn.directions(), units, true));
        c.expect_gradients();
      }
}

TEST(Parity, Embedding) {
  Case c("embedding");
  Embedding table({.words = 7, .size = 4});
  c.load(table);
  c.result("output", table(c.ids("ids")));
  c.expect_gradients();
}

TEST(Parity, Linear) {
  for (bool bias : {true, false}) {
    Case c(bias ? "linear_bias" : "linear");
    Linear layer({.inputs = 5, .outputs = 4, .bias = bias});
    c.load(layer);
    c.result("output", layer(c.leaf("x")));
    c.expect_gradients();
  }
}

TEST(Parity, CrossEntropyWithIgnoredTargetsAndSmoothing) {
  for (double smoothing : {0.0, 0.1})
    for (bool mean : {false, true}) {
      Case c(format("cross_entropy_{}_{:.1f}", mean ? "mean" : "sum", smoothing));
      IdMatrix targets = c.ids("targets");
      double counted = 0;
      for (Id id : targets.values) counted += id != 0;
      c.result("loss",
               cross_entropy(
                   c.leaf("logits"), targets,
                   {.ignore = 0, .divide_by = mean ? counted : 1, .label_smoothing = smoothing}));
      c.expect_gradients();
    }
}

}  // namespace
}  // namespace lookback
