#pragma once

#include <string>

#include "core/ids.h"
#include "nn/module.h"

namespace lookback {

/// Adds to each word vector what says where it stands, for attention alone cannot tell (the
/// tutorial's theorem 2.4.2): x (B, S, D) -> (B, S, D).
/// - sinusoidal (Vaswani et al., 2017, section 3.5): sin(p / 10000^(2i/D)) in column 2i, cos of the
///   same in column 2i + 1
/// - learned: row p of the parameter `weight` (max_positions, D), drawn from N(0, 0.02^2)
/// - none
class Positions : public Module {
 public:
  struct Options {
    std::string kind = "sinusoidal";  ///< sinusoidal | learned | none
    int64_t width = 0;                ///< D
    int64_t max_positions = 1024;     ///< of a learned table
    /// In training all positions of a sentence move by one number, drawn from 0 .. random_offset, so
    /// that the model meets larger positions than its sentences have. Both sides of a sentence draw
    /// the same; a learned table cuts it to what still fits.
    int64_t random_offset = 0;
  };
  explicit Positions(const Options& options);

  /// Error where a sentence is longer than the learned table. An offset is drawn for
  /// pass.sentence(b).
  Variable operator()(const Variable& x, const Lengths& lengths, const Pass& pass) const;
  /// One token a sentence, all at the same position: x (B, 1, D).
  Variable at(const Variable& x, int64_t position) const;
  /// Positions that a sentence may have; -1: no limit.
  int64_t limit() const { return options_.kind == "learned" ? options_.max_positions : -1; }

 private:
  void check(int64_t sentence, int64_t tokens) const;
  void waves(int64_t position, Real* row) const;
  int64_t offset(int64_t sentence, int64_t tokens, const Pass& pass) const;

  Options options_;
  Variable weight_;
  Tensor first_waves_;  // sinusoids of the first positions, worked out once
};

}  // namespace lookback
