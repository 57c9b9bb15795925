#include "nn/gated_cells.h"

#include <cmath>

#include "core/error.h"

namespace lookback {

GatedCell::GatedCell(CellKind kind, const Options& options) : Cell(options), kind_(kind) {
  int64_t gates = gate_count(kind) * hidden();
  Initializer draw = uniform(1 / std::sqrt(static_cast<double>(hidden())));
  weight_ih_ = parameter("weight_ih", {gates, input()}, draw);
  weight_hh_ = parameter("weight_hh", {gates, hidden()}, draw);
  bias_ih_ = parameter("bias_ih", {gates}, draw);
  bias_hh_ = parameter("bias_hh", {gates}, draw);
}

CellState GatedCell::advance(const Variable& from_input, const Variable& from_state,
                             const CellState& state) const {
  switch (kind_) {
    case CellKind::kRnn:
      return {rnn_gates(from_input, from_state), {}};
    case CellKind::kGru:
      return {gru_gates(from_input, from_state, state.hidden), {}};
    case CellKind::kLstm: {
      LstmState next = lstm_gates(from_input, from_state, state.cell);
      return {next.hidden, next.cell};
    }
  }
  fail("[cell] no such kind of cell: {}", static_cast<int>(kind_));
}

CellState GatedCell::step(const Variable& input, const CellState& state) const {
  return advance(linear(input, weight_ih_, bias_ih_), linear(state.hidden, weight_hh_, bias_hh_),
                 state);
}

Cell::Run GatedCell::run(const Variable& x, const CellState& start, const Lengths& lengths,
                         bool reverse) const {
  SequenceOutput out = recurrent_sequence({.cell = kind_,
                                           .x = x,
                                           .weight_ih = weight_ih_,
                                           .weight_hh = weight_hh_,
                                           .bias_ih = bias_ih_,
                                           .bias_hh = bias_hh_,
                                           .hidden = start.hidden,
                                           .cell_state = start.cell,
                                           .lengths = lengths,
                                           .reverse = reverse});
  return {out.states, {out.last, out.last_cell}};
}

/// The share of `early` in the gates of all steps is one product; a step adds the share of `late`.
class GatedCell::ProjectedSteps final : public Cell::Steps {
 public:
  ProjectedSteps(const GatedCell& cell, const Variable& early) : cell_(cell) {
    of_state_ = SharedWeight(cell.weight_hh_);
    if (!early.defined()) {
      of_late_ = SharedWeight(cell.weight_ih_);
      return;
    }
    int64_t known = early.size(-1);
    Variable of_early = narrow(cell.weight_ih_, 1, 0, known);
    if (const auto& words = early.gathered())
      by_word_ = {linear(words->table, of_early, cell.bias_ih_), words->index};
    else
      early_ = unbind(linear(early, of_early, cell.bias_ih_), 1);
    of_late_ = SharedWeight(narrow(cell.weight_ih_, 1, known, cell.input() - known));
  }

  CellState step(int64_t t, const Variable& late, const CellState& state) const override {
    Variable known = share_of_early(t, late.size(0));
    Variable from_input = known.defined() ? linear_add(late, of_late_, known)
                                          : linear(late, of_late_, cell_.bias_ih_);
    return cell_.advance(from_input, linear(state.hidden, of_state_, cell_.bias_hh_), state);
  }

 private:
  /// (B, G); undefined where all of the input is late.
  Variable share_of_early(int64_t t, int64_t batch) const {
    if (!by_word_.table.defined())
      return early_.empty() ? Variable() : early_[static_cast<size_t>(t)];
    auto rows = std::make_shared<Gathered>(by_word_.table, std::vector<Id>());
    int64_t steps = static_cast<int64_t>(by_word_.index.size()) / batch;
    for (int64_t b = 0; b < batch; ++b)
      rows->index.push_back(by_word_.index[static_cast<size_t>(b * steps + t)]);
    return gather(std::move(rows), {batch, by_word_.table.size(1)});
  }

  const GatedCell& cell_;
  std::vector<Variable> early_;  // a step each
  Gathered by_word_;             // of all places (B, T), where the words repeat
  SharedWeight of_late_, of_state_;
};

std::unique_ptr<Cell::Steps> GatedCell::steps(const Variable& early) const {
  return std::make_unique<ProjectedSteps>(*this, early);
}

CellFactory make_gated_cell(CellKind kind) {
  return
      [kind](const Cell::Options& options) { return std::make_unique<GatedCell>(kind, options); };
}

}  // namespace lookback
