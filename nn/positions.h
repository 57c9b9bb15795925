#pragma once

#include <string>
#include <vector>

#include "core/ids.h"
#include "nn/module.h"

namespace lookback {

/// Rows of sin(p w_i), cos(p w_i) in turn, w_i = 10000^(-2i/D), of any positions p, one after another. Those
/// of the first positions are worked out once; from them follow the others, by the sum of two angles.
class Sinusoids {
 public:
  Sinusoids() = default;
  explicit Sinusoids(int64_t width);

  /// Row i of `rows` (count, D) is of positions[i].
  void fill(const Id* positions, int64_t count, Real* rows) const;

 private:
  struct Angle {
    double sin, cos;
  };
  int64_t pairs() const { return static_cast<int64_t>(rates_.size()); }
  void wave(int64_t position, Angle* row) const;

  int64_t width_ = 0;
  std::vector<double> rates_;  // a pair of columns each
  std::vector<Angle> first_;   // (positions, pairs)
};

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
  int64_t offset(int64_t sentence, int64_t tokens, const Pass& pass) const;

  Options options_;
  Variable weight_;
  Sinusoids sinusoids_;
};

}  // namespace lookback
