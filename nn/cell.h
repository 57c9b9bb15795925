#pragma once

#include <functional>
#include <memory>
#include <string>

#include "core/ids.h"
#include "core/registry.h"
#include "nn/module.h"

namespace lookback {

/// What a recurrent cell carries from step to step.
struct CellState {
  Variable hidden;  ///< (B, D)
  Variable cell;    ///< (B, D); undefined for cells that have none
};

/// A recurrent cell: one step, (B, E) and a state -> the next state. A cell of one's own implements
/// step() alone; everything else follows from it. Cells with a faster way override the rest, and
/// tests hold the two ways equal.
class Cell : public Module {
 public:
  struct Options {
    int64_t input = 0;   ///< E
    int64_t hidden = 0;  ///< D
  };
  explicit Cell(const Options& options);

  int64_t input() const { return options_.input; }
  int64_t hidden() const { return options_.hidden; }
  /// Whether a state has a `cell` beside `hidden`.
  virtual bool has_cell() const { return false; }
  /// A state of zeros.
  CellState zeros(int64_t batch) const;

  virtual CellState step(const Variable& input, const CellState& state) const = 0;

  struct Run {
    Variable states;  ///< (B, S, D), zero at padding
    CellState last;   ///< after each sentence's own last step
  };
  /// All steps over sentences of different lengths, x (B, S, E); reversed, from each sentence's own
  /// last token to its first. A padded batch gives exactly what its sentences give one by one.
  virtual Run run(const Variable& x, const CellState& start, const Lengths& lengths,
                  bool reverse) const;

  /// Steps whose input is [early; late], where `early` is known for all steps before the first.
  class Steps {
   public:
    virtual ~Steps() = default;
    virtual CellState step(int64_t t, const Variable& late, const CellState& state) const = 0;
  };
  /// early (B, T, E1); each step then brings late (B, E - E1). Undefined: all of the input is late.
  virtual std::unique_ptr<Steps> steps(const Variable& early) const;

 private:
  Options options_;
};

using CellFactory = std::function<std::unique_ptr<Cell>(const Cell::Options&)>;
/// The cells that a config's `cell:` may name: rnn, gru, lstm, and what a program adds.
Registry<CellFactory>& cells();

}  // namespace lookback
