#pragma once

#include <memory>
#include <string>
#include <vector>

#include "nn/cell.h"

namespace lookback {

/// One or more recurrent layers, in one or both directions, over sentences of different lengths.
/// Parameters as in torch.nn.GRU: `weight_ih_l0`, `weight_ih_l0_reverse`, `weight_ih_l1`, ...
class Recurrent : public Module {
 public:
  struct Options {
    std::string cell = "gru";
    int64_t input = 0;
    int64_t hidden = 0;
    int64_t layers = 1;
    bool bidirectional = false;
    bool reversed = false;     ///< each sentence from its last token to its first; one direction
    double dropout = 0;        ///< on the states that one layer hands to the next, in training
    bool variational = false;  ///< Dropout::variational
    /// Names the places of dropout; two stacks of one model need different names, or they drop the
    /// same.
    std::string site = "recurrent";
  };
  explicit Recurrent(const Options& options);

  struct Output {
    Variable states;  ///< (B, S, D), of the last layer; both directions side by side: (B, S, 2D)
    std::vector<CellState> last;  ///< a layer each; both directions side by side
  };
  /// x (B, S, input). `start` has a state for each layer and direction (l0, l0_reverse, l1, ...);
  /// empty is zeros.
  Output operator()(const Variable& x, const Lengths& lengths, const std::vector<CellState>& start,
                    const Pass& pass) const;

  int64_t layers() const { return options_.layers; }
  int64_t directions() const { return options_.bidirectional ? 2 : 1; }
  /// Units of one position of the output: hidden times directions.
  int64_t output() const { return options_.hidden * directions(); }
  const Cell& cell(int64_t layer, int64_t direction = 0) const {
    return *cells_[static_cast<size_t>(layer * directions() + direction)];
  }
  const Options& options() const { return options_; }

 private:
  Options options_;
  std::vector<std::unique_ptr<Cell>> cells_;
};

}  // namespace lookback
