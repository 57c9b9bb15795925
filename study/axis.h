#pragma once

#include <string>
#include <utility>
#include <vector>

#include "study/figure.h"

namespace lookback {

/// One direction of a plot: what it spans and where its ticks stand.
struct Axis {
  double low = 0, high = 1;  ///< low < high; both above 0 where log
  bool log = false;
  std::vector<double> ticks;        ///< inside [low, high], rising
  std::vector<std::string> labels;  ///< one a tick, all alike in decimals and unit

  /// Where a value stands: 0 at low, 1 at high; outside of them it is held at the nearer end.
  double place(double value) const;
};

/// Whether a point is drawn: both numbers finite and, on powers of ten, y above 0.
bool drawn(const Figure& figure, const std::pair<double, double>& point);

/// The axes that all drawn points and intervals need, about `ticks` ticks each. The y axis ends at a
/// tick (a power of ten where log_y) unless y_range says otherwise. Error for a y_range that does
/// not rise, or does not start above 0 on powers of ten, and for intervals that are not as many as
/// their series' points.
Axis x_axis(const Figure& figure, int ticks);
Axis y_axis(const Figure& figure, int ticks);

}  // namespace lookback
