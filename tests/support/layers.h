#pragma once

#include <string>
#include <vector>

#include "autograd/ops.h"
#include "nn/cell.h"
#include "nn/linear.h"
#include "nn/module.h"

namespace lookback::testing {

inline std::vector<Variable> leaves_of(const Module& module) {
  std::vector<Variable> out;
  for (const Module::Named& p : module.parameters()) out.push_back(p.variable);
  return out;
}

/// A cell of one's own, which implements step() alone: h' = tanh(W [x; h] + b) / 2 + h / 2. It is
/// registered as `averaging`, as a user's program would.
class AveragingCell final : public Cell {
 public:
  explicit AveragingCell(const Options& options)
      : Cell(options),
        joint_({.inputs = options.input + options.hidden, .outputs = options.hidden}) {
    child("joint", joint_);
  }
  CellState step(const Variable& input, const CellState& state) const override {
    Variable fresh = tanh(joint_(concat(std::vector<Variable>{input, state.hidden}, -1)));
    return {scale(fresh + state.hidden, 0.5), {}};
  }

 private:
  Linear joint_;
};

inline void register_averaging_cell() {
  static const bool once = [] {
    cells().add(
        "averaging", "the mean of the state and a vanilla step",
        [](const Cell::Options& options) { return std::make_unique<AveragingCell>(options); });
    return true;
  }();
  (void)once;
}

}  // namespace lookback::testing
