#pragma once

#include "autograd/ops.h"
#include "nn/cell.h"

namespace lookback {

/// The vanilla cell, the GRU and the LSTM: gates from W_ih x + b_ih and W_hh h + b_hh, then a
/// pointwise half (rnn_gates, gru_gates, lstm_gates). Parameters as in PyTorch: `weight_ih` (G, E),
/// `weight_hh` (G, D), `bias_ih`, `bias_hh` (G), G = D, 3D (r, z, n) or 4D (i, f, g, o), drawn from
/// U(-1/sqrt(D), 1/sqrt(D)).
class GatedCell final : public Cell {
 public:
  GatedCell(CellKind kind, const Options& options);

  bool has_cell() const override { return kind_ == CellKind::kLstm; }
  CellState step(const Variable& input, const CellState& state) const override;
  Run run(const Variable& x, const CellState& start, const Lengths& lengths,
          bool reverse) const override;
  std::unique_ptr<Steps> steps(const Variable& early) const override;

 private:
  class ProjectedSteps;
  /// The step from the two shares of the gates, W_ih x + b_ih and W_hh h + b_hh.
  CellState advance(const Variable& from_input, const Variable& from_state,
                    const CellState& state) const;

  CellKind kind_;
  Variable weight_ih_, weight_hh_, bias_ih_, bias_hh_;
};

CellFactory make_gated_cell(CellKind kind);

}  // namespace lookback
