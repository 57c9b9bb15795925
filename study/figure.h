#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace lookback {

/// One line of a figure.
struct Series {
  std::string name;                               ///< stands at the line's right end
  std::vector<std::pair<double, double>> points;  ///< (x, y) by rising x; one not finite is a gap
  std::string detail = {};  ///< a second, quieter line under the name; may be empty
  std::string colour = {};  ///< `#0072b2`; empty: the next of a palette for every kind of eye
  bool dashed = false;
  /// (low, high) about each point, drawn as a band; empty: none. As many as points.
  std::vector<std::pair<double, double>> intervals = {};
};

/// A remark inside the plot, centred at a place in data coordinates.
struct Note {
  double x = 0, y = 0;
  std::string text;
};

/// A line plot. Texts are plain: svg() escapes them.
struct Figure {
  std::string title;
  std::string subtitle;
  std::string x_label, y_label;
  std::vector<Series> series;
  std::vector<Note> notes = {};
  std::optional<std::pair<double, double>> y_range = {};  ///< empty: what the points need
  bool percent = false;                                   ///< y is a share, shown as 0% to 100%
  bool log_y = false;                                     ///< powers of ten; y not above 0 is a gap
  std::string band = "95% interval";  ///< what the series' intervals are, in reports
};

/// How a series is drawn wherever the figure is: the palette in turn, dotted from its second round
/// on, so that many series stay apart.
struct Look {
  std::string colour;
  std::vector<int> dashes;  ///< lengths of stroke and gap in pixels; empty: one unbroken line
  int marker = 0;           ///< circle, square, triangle, diamond
};
Look look(const Figure& figure, size_t i);

/// The figure as an SVG document on a white card, readable on light and dark pages: lines labelled
/// at their ends rather than in a legend, labels moved apart where lines end together, ticks at
/// round numbers. A series without a finite point is named with "(no data)".
std::string svg(const Figure& figure);

/// Multiples of 1, 2 or 5 times a power of ten inside [low, high], about `count` of them. Error
/// unless low < high, both finite.
std::vector<double> round_ticks(double low, double high, int count);

/// Centres of labels that want to stand at `wanted` and take `heights`, moved as little as keeps
/// them apart and inside [top, bottom]; their order by `wanted` stays. When they do not fit they
/// stand closely from `top` on.
std::vector<double> spread_labels(const std::vector<double>& wanted,
                                  const std::vector<double>& heights, double top, double bottom);

}  // namespace lookback
