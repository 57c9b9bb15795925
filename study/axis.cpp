#include "study/axis.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>

#include "core/error.h"

namespace lookback {
namespace {

struct Limits {
  double low = std::numeric_limits<double>::infinity(), high = -low;
  void add(double value) {
    low = std::min(low, value);
    high = std::max(high, value);
  }
  /// Something to draw in where there is no point, or one value only.
  void open() {
    if (low > high) low = 0, high = 1;
    if (low == high) {
      double room = std::max(0.5, std::abs(low) / 10);
      low -= room, high += room;
    }
  }
};

/// The decimals and the unit come from the step between ticks, so that all look alike.
std::string tick_text(double value, double step, bool percent) {
  if (percent) value *= 100, step *= 100;
  if (std::abs(value) >= 1e6 || step < 1e-6) return format("{:.3g}{}", value, percent ? "%" : "");
  int decimals = std::max(0, static_cast<int>(-std::floor(std::log10(step) + 1e-9)));
  return format("{:.{}f}{}", value, decimals, percent ? "%" : "");
}

void add_ticks(Axis& axis, int count, bool percent) {
  axis.ticks = round_ticks(axis.low, axis.high, count);
  double step = axis.ticks.size() > 1 ? axis.ticks[1] - axis.ticks[0] : axis.high - axis.low;
  for (double tick : axis.ticks) axis.labels.push_back(tick_text(tick, step, percent));
}

/// Powers of ten; every so many of them where they are many, with 2 and 5 between where few.
void add_log_ticks(Axis& axis, int count, bool percent) {
  int first = static_cast<int>(std::floor(std::log10(axis.low) + 1e-9));
  int last = static_cast<int>(std::ceil(std::log10(axis.high) - 1e-9));
  int stride = std::max(1, (last - first + count - 1) / std::max(1, count));
  std::vector<double> factors = {1};
  if (last - first < 2) factors = {1, 2, 5};
  for (int exponent = first; exponent <= last; exponent += stride) {
    for (double factor : factors) {
      double tick = factor * std::pow(10, exponent);
      if (tick < axis.low * (1 - 1e-9) || tick > axis.high * (1 + 1e-9)) continue;
      axis.ticks.push_back(tick);
      axis.labels.push_back(format("{:.6g}{}", percent ? tick * 100 : tick, percent ? "%" : ""));
    }
  }
}

Limits y_limits(const Figure& figure) {
  Limits y;
  for (const Series& series : figure.series) {
    if (!series.intervals.empty() && series.intervals.size() != series.points.size())
      fail("[figure] {} has {} points and {} intervals; as many, or none", series.name,
           series.points.size(), series.intervals.size());
    for (size_t i = 0; i < series.points.size(); ++i) {
      if (!drawn(figure, series.points[i])) continue;
      y.add(series.points[i].second);
      if (series.intervals.empty()) continue;
      for (double end : {series.intervals[i].first, series.intervals[i].second})
        if (std::isfinite(end) && (!figure.log_y || end > 0)) y.add(end);
    }
  }
  return y;
}

}  // namespace

double Axis::place(double value) const {
  double share =
      log ? (std::log(std::max(value, low)) - std::log(low)) / (std::log(high) - std::log(low))
          : (value - low) / (high - low);
  return std::clamp(share, 0.0, 1.0);
}

bool drawn(const Figure& figure, const std::pair<double, double>& point) {
  return std::isfinite(point.first) && std::isfinite(point.second) &&
         (!figure.log_y || point.second > 0);
}

Axis x_axis(const Figure& figure, int ticks) {
  Limits x;
  for (const Series& series : figure.series)
    for (const auto& point : series.points)
      if (drawn(figure, point)) x.add(point.first);
  x.open();
  Axis axis{.low = x.low, .high = x.high, .ticks = {}, .labels = {}};
  add_ticks(axis, ticks, false);
  return axis;
}

Axis y_axis(const Figure& figure, int ticks) {
  Limits y = y_limits(figure);
  Axis axis{.low = y.low, .high = y.high, .log = figure.log_y, .ticks = {}, .labels = {}};
  if (figure.y_range) {
    std::tie(axis.low, axis.high) = *figure.y_range;
    if (!(axis.low < axis.high))
      fail("[svg] y_range runs from {} to {}; it must rise", axis.low, axis.high);
    if (axis.log && axis.low <= 0)
      fail("[svg] y_range starts at {}; powers of ten start above 0", axis.low);
  } else if (axis.log) {
    if (y.low > y.high) axis.low = 1, axis.high = 10;
    double last = std::ceil(std::log10(axis.high) - 1e-9);
    double first = std::min(std::floor(std::log10(axis.low) + 1e-9), last - 1);
    axis.low = std::pow(10, std::max(first, -307.0));
    axis.high = std::pow(10, std::min(last, 308.0));
  } else {
    y.open();
    axis.low = y.low, axis.high = y.high;
    // Out to the next tick, so that no curve leaves the grid.
    if (std::vector<double> marks = round_ticks(y.low, y.high, ticks); marks.size() > 1) {
      double step = marks[1] - marks[0];
      axis.low = step * std::floor(y.low / step + 1e-9);
      axis.high = step * std::ceil(y.high / step - 1e-9);
    }
  }
  if (axis.log) {
    add_log_ticks(axis, ticks, figure.percent);
  } else {
    add_ticks(axis, ticks, figure.percent);
  }
  return axis;
}

}  // namespace lookback
