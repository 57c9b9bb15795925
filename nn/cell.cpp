#include "nn/cell.h"

#include "autograd/ops.h"
#include "core/error.h"
#include "nn/gated_cells.h"

namespace lookback {

Cell::Cell(const Options& options) : options_(options) {
  if (options.input < 1 || options.hidden < 1)
    fail("[cell] needs at least one input and one unit, not {} and {}", options.input,
         options.hidden);
}

CellState Cell::zeros(int64_t batch) const {
  Tensor zero = Tensor::zeros({batch, hidden()});
  return {zero, has_cell() ? Variable(zero) : Variable()};
}

namespace {

/// Row b of `now` where the sentence still runs, else of `before`.
CellState where_running(const std::vector<uint8_t>& runs, const CellState& now,
                        const CellState& before) {
  return {choose_rows(runs, now.hidden, before.hidden),
          now.cell.defined() ? choose_rows(runs, now.cell, before.cell) : Variable()};
}

class ConcatenatedSteps final : public Cell::Steps {
 public:
  ConcatenatedSteps(const Cell& cell, const Variable& early)
      : cell_(cell), early_(early.defined() ? unbind(early, 1) : std::vector<Variable>()) {}
  CellState step(int64_t t, const Variable& late, const CellState& state) const override {
    if (early_.empty()) return cell_.step(late, state);
    return cell_.step(concat(std::vector<Variable>{early_[static_cast<size_t>(t)], late}, -1),
                      state);
  }

 private:
  const Cell& cell_;
  std::vector<Variable> early_;
};

}  // namespace

Cell::Run Cell::run(const Variable& x, const CellState& start, const Lengths& lengths,
                    bool reverse) const {
  int64_t batch = x.size(0), positions = x.size(1);
  std::vector<Variable> inputs = unbind(x, 1), states(inputs.size());
  Variable zero = Tensor::zeros({batch, hidden()}), nothing = Tensor::zeros({batch, x.size(2)});
  CellState state = start;
  for (int64_t i = 0; i < positions; ++i) {
    size_t t = static_cast<size_t>(reverse ? positions - 1 - i : i);
    // Reversed, the padding comes first: a state does not move until its sentence's last token.
    std::vector<uint8_t> runs;
    for (int64_t length : lengths) runs.push_back(static_cast<int64_t>(t) < length);
    // What stands in the padding is not read: a gradient of 0 times NaN would be NaN.
    state = where_running(runs, step(choose_rows(runs, inputs[t], nothing), state), state);
    states[t] = choose_rows(runs, state.hidden, zero);
  }
  return {stack(states, 1), state};
}

std::unique_ptr<Cell::Steps> Cell::steps(const Variable& early) const {
  return std::make_unique<ConcatenatedSteps>(*this, early);
}

Registry<CellFactory>& cells() {
  static Registry<CellFactory> registry = [] {
    Registry<CellFactory> r("cell");
    r.add("rnn", "vanilla cell, h' = tanh(W_ih x + W_hh h)", make_gated_cell(CellKind::kRnn));
    r.add("gru", "gated recurrent unit (Cho et al., 2014)", make_gated_cell(CellKind::kGru));
    r.add("lstm", "long short-term memory (Hochreiter and Schmidhuber, 1997)",
          make_gated_cell(CellKind::kLstm));
    return r;
  }();
  return registry;
}

}  // namespace lookback
