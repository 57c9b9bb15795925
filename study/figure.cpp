#include "study/figure.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "core/error.h"
#include "study/axis.h"
#include "study/svg_text.h"

namespace lookback {
namespace {

// The colours of Okabe and Ito (2008), which people with any kind of colour vision tell apart; the
// bright ones darkened a little for lines on white. Marker shapes differ as well.
constexpr std::array<const char*, 6> kPalette = {"#0072b2", "#d55e00", "#009e73",
                                                 "#b45f93", "#b97d00", "#333333"};
constexpr double kLeft = 62, kPlotWidth = 540, kPlotHeight = 300, kBelow = 62, kEdge = 22;
constexpr double kNameSize = 13, kDetailSize = 11.5;
constexpr size_t kMostMarkers = 60;

std::string line(double x1, double y1, double x2, double y2, const std::string& colour) {
  return format("<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" stroke=\"{}\"/>\n",
                x1, y1, x2, y2, colour);
}

std::string marker(size_t shape, double x, double y, const std::string& colour) {
  std::string style = format("fill=\"{}\" stroke=\"#ffffff\"", colour);
  switch (shape % 4) {
    case 0:
      return format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"4\" {}/>\n", x, y, style);
    case 1:
      return format("<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"7\" height=\"7\" {}/>\n", x - 3.5,
                    y - 3.5, style);
    case 2:
      return format("<path d=\"M{:.1f} {:.1f}l4.6 8h-9.2z\" {}/>\n", x, y - 5, style);
    default:
      return format("<path d=\"M{:.1f} {:.1f}l5 5l-5 5l-5 -5z\" {}/>\n", x, y - 5, style);
  }
}

/// Draws one figure piece by piece into `out_`.
class Drawing {
 public:
  explicit Drawing(const Figure& figure)
      : figure_(figure), x_(x_axis(figure, 10)), y_(y_axis(figure, 6)) {
    measure();
  }

  std::string draw() {
    open();
    axes();
    for (size_t i = 0; i < figure_.series.size(); ++i) band(i);
    for (size_t i = 0; i < figure_.series.size(); ++i) curve(i);
    labels();
    for (const Note& note : figure_.notes)
      out_ += svg_text(at_x(note.x), at_y(note.y) + 4, note.text, 12, "#666666",
                       " text-anchor=\"middle\" font-style=\"italic\"");
    return out_ + "</svg>\n";
  }

 private:
  void measure() {
    double label_width = 0, labels_height = 0;
    for (const Series& series : figure_.series) {
      label_width = std::max({label_width, svg_width(label(series), kNameSize * 1.05),
                              svg_width(series.detail, kDetailSize)});
      labels_height += label_height(series);
    }
    top_ = 74 + (figure_.subtitle.empty() ? 0 : 20);
    bottom_ = top_ + std::max(kPlotHeight, labels_height);
    right_ = kLeft + kPlotWidth;
    height_ = bottom_ + kBelow;
    width_ = std::max({right_ + 26 + label_width + kEdge, svg_width(figure_.title, 18) + 2 * kEdge,
                       svg_width(figure_.subtitle, 13) + 2 * kEdge});
  }

  void open() {
    out_ = svg_card(width_, height_, figure_.title);
    out_ += svg_text(kEdge, 34, figure_.title, 18, "#1a1a1a", " font-weight=\"600\"");
    if (!figure_.subtitle.empty()) out_ += svg_text(kEdge, 55, figure_.subtitle, 13, "#555555");
  }

  void axes() {
    for (size_t i = 0; i < y_.ticks.size(); ++i) {
      double y = at_y(y_.ticks[i]);
      out_ += line(kLeft, y, right_, y, "#e6e6e6");
      out_ += svg_text(kLeft - 9, y + 4, y_.labels[i], 12, "#555555", " text-anchor=\"end\"");
    }
    for (size_t i = 0; i < x_.ticks.size(); ++i) {
      double x = at_x(x_.ticks[i]);
      out_ += line(x, bottom_, x, bottom_ + 5, "#999999");
      out_ += svg_text(x, bottom_ + 20, x_.labels[i], 12, "#555555", " text-anchor=\"middle\"");
    }
    out_ += line(kLeft, bottom_, right_, bottom_, "#999999");
    out_ += svg_text(kEdge, top_ - 14, figure_.y_label, 12, "#555555");
    out_ += svg_text(kLeft + kPlotWidth / 2, bottom_ + 44, figure_.x_label, 13, "#333333",
                     " text-anchor=\"middle\"");
  }

  /// The places (x, low, high) of neighbouring points with an interval: a band; one alone: a bar.
  void band(size_t i) {
    const Series& series = figure_.series[i];
    std::vector<std::array<double, 3>> run;
    auto close = [&] {
      if (run.size() == 1) {
        auto [x, low, high] = run[0];
        out_ += format(
            "<path d=\"M{0:.1f} {1:.1f}V{2:.1f}\" stroke=\"{3}\" stroke-width=\"5\" "
            "stroke-opacity=\"0.3\"/>\n",
            x, low, high, colour(i));
      } else if (!run.empty()) {
        std::string path;
        for (const auto& [x, low, high] : run)
          path += format("{}{:.1f} {:.1f}", path.empty() ? "M" : "L", x, high);
        for (auto at = run.rbegin(); at != run.rend(); ++at)
          path += format("L{:.1f} {:.1f}", (*at)[0], (*at)[1]);
        out_ += format("<path d=\"{}z\" fill=\"{}\" fill-opacity=\"0.16\"/>\n", path, colour(i));
      }
      run.clear();
    };
    for (size_t k = 0; k < series.intervals.size(); ++k) {
      auto [low, high] = series.intervals[k];
      if (drawn(figure_, series.points[k]) && std::isfinite(low) && std::isfinite(high)) {
        run.push_back({at_x(series.points[k].first), at_y(low), at_y(high)});
      } else {
        close();
      }
    }
    close();
  }

  void curve(size_t i) {
    const Series& series = figure_.series[i];
    std::string path, marks;
    bool pen_down = false;
    for (const auto& point : series.points) {
      bool shown = drawn(figure_, point);
      if (shown) {
        double x = at_x(point.first), y = at_y(point.second);
        path += format("{}{:.1f} {:.1f}", pen_down ? "L" : "M", x, y);
        if (series.points.size() <= kMostMarkers) marks += marker(i, x, y, colour(i));
      }
      pen_down = shown;
    }
    if (path.empty()) return;
    std::string dashes;
    for (int length : look(figure_, i).dashes)
      dashes += format("{}{}", dashes.empty() ? "" : " ", length);
    if (!dashes.empty()) dashes = format(" stroke-dasharray=\"{}\"", dashes);
    out_ += format(
        "<path d=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"2.2\" "
        "stroke-linejoin=\"round\" stroke-linecap=\"round\"{}/>\n",
        path, colour(i), dashes);
    out_ += marks;
  }

  void labels() {
    std::vector<double> ends_x, ends_y, heights;
    for (const Series& series : figure_.series) {
      auto last = std::find_if(series.points.rbegin(), series.points.rend(),
                               [&](const auto& point) { return drawn(figure_, point); });
      bool any = last != series.points.rend();
      ends_x.push_back(any ? at_x(last->first) : right_);
      ends_y.push_back(any ? at_y(last->second) : bottom_);
      heights.push_back(label_height(series));
    }
    std::vector<double> centres = spread_labels(ends_y, heights, top_ - 8, bottom_ + 8);
    for (size_t i = 0; i < figure_.series.size(); ++i) {
      const Series& series = figure_.series[i];
      double x = right_ + 26, y = centres[i] + (series.detail.empty() ? 4.5 : -3.5);
      if (!empty(series))
        out_ += format(
            "<polyline points=\"{:.1f},{:.1f} {:.1f},{:.1f} {:.1f},{:.1f}\" fill=\"none\" "
            "stroke=\"{}\" stroke-opacity=\"0.55\"/>\n",
            ends_x[i] + 6, ends_y[i], right_ + 9, ends_y[i], x - 4, centres[i], colour(i));
      out_ += svg_text(x, y, label(series), kNameSize, colour(i), " font-weight=\"600\"");
      if (!series.detail.empty())
        out_ += svg_text(x, y + 15, series.detail, kDetailSize, "#666666");
    }
  }

  bool empty(const Series& series) const {
    return std::none_of(series.points.begin(), series.points.end(),
                        [&](const auto& point) { return drawn(figure_, point); });
  }
  std::string label(const Series& series) const {
    return series.name + (empty(series) ? " (no data)" : "");
  }
  std::string colour(size_t i) const { return markup_escaped(look(figure_, i).colour); }
  static double label_height(const Series& series) { return series.detail.empty() ? 19 : 37; }
  double at_x(double x) const { return kLeft + 8 + x_.place(x) * (kPlotWidth - 16); }
  double at_y(double y) const { return bottom_ - y_.place(y) * (bottom_ - top_); }

  const Figure& figure_;
  Axis x_, y_;
  double top_ = 0, bottom_ = 0, right_ = 0, width_ = 0, height_ = 0;
  std::string out_;
};

}  // namespace

Look look(const Figure& figure, size_t i) {
  const Series& series = figure.series[i];
  Look look{.colour = series.colour, .dashes = {}, .marker = static_cast<int>(i % 4)};
  if (look.colour.empty()) look.colour = kPalette[i % kPalette.size()];
  if (series.dashed) {
    look.dashes = {7, 5};
  } else if (series.colour.empty() && i >= kPalette.size()) {
    look.dashes = i < 2 * kPalette.size() ? std::vector{2, 4} : std::vector{9, 4, 2, 4};
  }
  return look;
}

std::string svg(const Figure& figure) {
  return Drawing(figure).draw();
}

std::vector<double> round_ticks(double low, double high, int count) {
  if (!(low < high) || !std::isfinite(high - low))
    fail("[round_ticks] from {} to {}; both must be finite and rise", low, high);
  double rough = (high - low) / std::max(1, count);
  double power = std::pow(10, std::floor(std::log10(rough)));
  double step = 10 * power;
  for (double factor : {5.0, 2.0, 1.0})
    if (factor * power >= rough * (1 - 1e-9)) step = factor * power;
  std::vector<double> ticks;
  double first = std::ceil(low / step - 1e-9);
  // Whole multiples, for sums of steps would drift.
  for (double k = first; k * step <= high + step * 1e-9 && ticks.size() < 1000; ++k)
    ticks.push_back(k == 0 ? 0 : k * step);
  return ticks;
}

std::vector<double> spread_labels(const std::vector<double>& wanted,
                                  const std::vector<double>& heights, double top, double bottom) {
  std::vector<size_t> order(wanted.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return wanted[a] < wanted[b]; });
  std::vector<double> centres(wanted.size());
  double edge = bottom;  // upwards from the bottom, none may reach below the one under it
  for (size_t k = order.size(); k-- > 0;) {
    size_t i = order[k];
    centres[i] = std::min(wanted[i], edge - heights[i] / 2);
    edge = centres[i] - heights[i] / 2;
  }
  edge = top;  // then downwards from the top
  for (size_t i : order) {
    centres[i] = std::max(centres[i], edge + heights[i] / 2);
    edge = centres[i] + heights[i] / 2;
  }
  return centres;
}

}  // namespace lookback
