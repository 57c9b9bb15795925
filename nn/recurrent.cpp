#include "nn/recurrent.h"

#include "autograd/ops.h"
#include "core/error.h"

namespace lookback {

Recurrent::Recurrent(const Options& options) : options_(options) {
  if (options.layers < 1) fail("[recurrent] needs at least one layer, not {}", options.layers);
  if (options.reversed && options.bidirectional)
    fail("[recurrent] reversed and bidirectional: both directions are read already");
  const CellFactory& make = cells().get(options.cell);
  for (int64_t layer = 0; layer < options.layers; ++layer)
    for (int64_t direction = 0; direction < directions(); ++direction) {
      cells_.push_back(
          make({.input = layer == 0 ? options.input : output(), .hidden = options.hidden}));
      child("", *cells_.back(), format("_l{}{}", layer, direction ? "_reverse" : ""));
    }
}

Recurrent::Output Recurrent::operator()(const Variable& x, const Lengths& lengths,
                                        const std::vector<CellState>& start,
                                        const Pass& pass) const {
  if (!start.empty() && start.size() != cells_.size())
    fail("[recurrent] {} initial states for {} layers in {} directions", start.size(), layers(),
         directions());
  Output out{.states = x, .last = {}};
  auto join = [](const Variable& a, const Variable& b) {
    return a.defined() ? concat(std::vector<Variable>{a, b}, -1) : Variable();
  };
  for (int64_t layer = 0; layer < layers(); ++layer) {
    if (layer > 0)
      out.states = drop(out.states, Dropout{options_.dropout, options_.variational}, pass,
                        format("{}.layer{}", options_.site, layer));
    auto run = [&](int64_t direction) {
      size_t at = static_cast<size_t>(layer * directions() + direction);
      CellState from = start.empty() ? cells_[at]->zeros(x.size(0)) : start[at];
      return cells_[at]->run(out.states, from, lengths, direction == 1 || options_.reversed);
    };
    Cell::Run forward = run(0);
    if (directions() == 2) {
      Cell::Run backward = run(1);
      forward.states = join(forward.states, backward.states);
      forward.last = {join(forward.last.hidden, backward.last.hidden),
                      join(forward.last.cell, backward.last.cell)};
    }
    out.states = forward.states;
    out.last.push_back(forward.last);
  }
  return out;
}

}  // namespace lookback
