#pragma once

#include <string>
#include <vector>

#include "core/json.h"
#include "study/page.h"
#include "train/measure.h"

namespace lookback {

/// One size of an axis, measured.
struct ScalingPoint {
  double size = 0;
  double step_ms = 0;  ///< median
  double gflop = 0;    ///< of the matrix products of a step, counted
};

/// How a step's time grows along one size, all others being the configuration's own.
struct ScalingAxis {
  std::string letter, name;  ///< `B`, `sentences`
  std::vector<ScalingPoint> points;
  double asymptotic = 0;  ///< the exponent that theory gives where this size outgrows all others
  std::vector<std::string> left_out = {};  ///< sizes that do not fit, and why

  /// The exponents of time and of counted products over the upper three points.
  double measured() const;
  double counted() const;
};

struct Scaling {
  std::string name;  ///< the configuration's
  std::string shape;
  int64_t steps = 0;
  std::vector<ScalingAxis> axes;
  Json json() const;
};

/// k of y = a x^k: the slope of log y over log x by least squares, over the last three points. NaN of
/// fewer than two.
double upper_exponent(const std::vector<std::pair<double, double>>& points);

/// 1/4, 1/2, 1, 2 and 4 times a size, rounded, each once, at least `least`.
std::vector<int64_t> sizes_around(int64_t size, int64_t least);

/// Measures steps of the shape along each axis: B, S, T, D, V where the data has a number of symbols, and
/// threads up to those of the configuration.
Scaling measure_scaling(const Config& config, const BenchOptions& shape);

/// A table of exponents, and for each axis a figure and a table of its points.
Page scaling_page(const Scaling& scaling, const std::string& command);

}  // namespace lookback
