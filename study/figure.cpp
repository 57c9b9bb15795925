#include "study/figure.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>

#include "core/error.h"

namespace lookback {
namespace {

// The colours of Okabe and Ito (2008), which people with any kind of colour vision tell apart; the
// bright ones darkened a little for lines on white. Marker shapes differ as well.
constexpr std::array<const char*, 6> kPalette = {"#0072b2", "#d55e00", "#009e73",
                                                 "#b45f93", "#b97d00", "#333333"};
constexpr double kLeft = 62, kPlotWidth = 540, kPlotHeight = 300, kBelow = 62, kEdge = 22;
constexpr double kNameSize = 13, kDetailSize = 11.5;
constexpr size_t kMostMarkers = 60;

std::string escaped(const std::string& text) {
  std::string out;
  for (char c : text) {
    if (c == '&') {
      out += "&amp;";
    } else if (c == '<') {
      out += "&lt;";
    } else if (c == '>') {
      out += "&gt;";
    } else if (c == '"') {
      out += "&quot;";
    } else {
      out += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;  // XML has no control characters
    }
  }
  return out;
}

/// About how wide a text is: fonts are the viewer's.
double text_width(const std::string& text, double size) {
  auto starts_character = [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; };
  return 0.57 * size *
         static_cast<double>(std::count_if(text.begin(), text.end(), starts_character));
}

bool finite(const std::pair<double, double>& point) {
  return std::isfinite(point.first) && std::isfinite(point.second);
}

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

std::string text(double x, double y, const std::string& words, double size,
                 const std::string& colour, const std::string& more = "") {
  return format("<text x=\"{:.1f}\" y=\"{:.1f}\" font-size=\"{}\" fill=\"{}\"{}>{}</text>\n", x, y,
                size, colour, more, escaped(words));
}

std::string line(double x1, double y1, double x2, double y2, const std::string& colour) {
  return format("<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" stroke=\"{}\"/>\n",
                x1, y1, x2, y2, colour);
}

std::string marker(size_t shape, double x, double y, const std::string& colour) {
  std::string style = format("fill=\"{}\" stroke=\"#ffffff\"", escaped(colour));
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
  explicit Drawing(const Figure& figure) : figure_(figure) { measure(); }

  std::string draw() {
    open();
    axes();
    for (size_t i = 0; i < figure_.series.size(); ++i) curve(i);
    labels();
    for (const Note& note : figure_.notes)
      out_ += text(at_x(note.x), at_y(note.y) + 4, note.text, 12, "#666666",
                   " text-anchor=\"middle\" font-style=\"italic\"");
    return out_ + "</svg>\n";
  }

 private:
  void measure() {
    double label_width = 0, labels_height = 0;
    for (const Series& series : figure_.series) {
      for (const auto& point : series.points) {
        if (!finite(point)) continue;
        x_.add(point.first);
        y_.add(point.second);
      }
      label_width = std::max({label_width, text_width(label(series), kNameSize * 1.05),
                              text_width(series.detail, kDetailSize)});
      labels_height += label_height(series);
    }
    for (Limits* limits : {&x_, &y_}) limits->open();
    if (figure_.y_range) {
      auto [low, high] = *figure_.y_range;
      if (!(low < high)) fail("[svg] y_range runs from {} to {}; it must rise", low, high);
      y_ = {low, high};
    } else if (std::vector<double> ticks = round_ticks(y_.low, y_.high, 6); ticks.size() > 1) {
      // Out to the next tick, so that no curve leaves the grid.
      double step = ticks[1] - ticks[0];
      y_ = {step * std::floor(y_.low / step + 1e-9), step * std::ceil(y_.high / step - 1e-9)};
    }
    top_ = 74 + (figure_.subtitle.empty() ? 0 : 20);
    bottom_ = top_ + std::max(kPlotHeight, labels_height);
    right_ = kLeft + kPlotWidth;
    height_ = bottom_ + kBelow;
    width_ = std::max({right_ + 26 + label_width + kEdge, text_width(figure_.title, 18) + 2 * kEdge,
                       text_width(figure_.subtitle, 13) + 2 * kEdge});
  }

  void open() {
    out_ = format(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:.0f}\" height=\"{1:.0f}\" "
        "viewBox=\"0 0 {0:.0f} {1:.0f}\" role=\"img\" "
        "font-family=\"system-ui, -apple-system, 'Segoe UI', 'DejaVu Sans', sans-serif\">\n"
        "<title>{2}</title>\n"
        "<rect x=\"0.5\" y=\"0.5\" width=\"{3:.0f}\" height=\"{4:.0f}\" rx=\"10\" "
        "fill=\"#ffffff\" stroke=\"#dddddd\"/>\n",
        width_, height_, escaped(figure_.title), width_ - 1, height_ - 1);
    out_ += text(kEdge, 34, figure_.title, 18, "#1a1a1a", " font-weight=\"600\"");
    if (!figure_.subtitle.empty()) out_ += text(kEdge, 55, figure_.subtitle, 13, "#555555");
  }

  void axes() {
    std::vector<double> ticks = round_ticks(y_.low, y_.high, 6);
    double step = ticks.size() > 1 ? ticks[1] - ticks[0] : y_.high - y_.low;
    for (double tick : ticks) {
      out_ += line(kLeft, at_y(tick), right_, at_y(tick), "#e6e6e6");
      out_ += text(kLeft - 9, at_y(tick) + 4, tick_text(tick, step, figure_.percent), 12, "#555555",
                   " text-anchor=\"end\"");
    }
    ticks = round_ticks(x_.low, x_.high, 10);
    step = ticks.size() > 1 ? ticks[1] - ticks[0] : x_.high - x_.low;
    for (double tick : ticks) {
      out_ += line(at_x(tick), bottom_, at_x(tick), bottom_ + 5, "#999999");
      out_ += text(at_x(tick), bottom_ + 20, tick_text(tick, step, false), 12, "#555555",
                   " text-anchor=\"middle\"");
    }
    out_ += line(kLeft, bottom_, right_, bottom_, "#999999");
    out_ += text(kEdge, top_ - 14, figure_.y_label, 12, "#555555");
    out_ += text(kLeft + kPlotWidth / 2, bottom_ + 44, figure_.x_label, 13, "#333333",
                 " text-anchor=\"middle\"");
  }

  void curve(size_t i) {
    const Series& series = figure_.series[i];
    std::string path, marks;
    bool pen_down = false;
    for (const auto& point : series.points) {
      bool drawn = finite(point);
      if (drawn) {
        double x = at_x(point.first), y = at_y(point.second);
        path += format("{}{:.1f} {:.1f}", pen_down ? "L" : "M", x, y);
        if (series.points.size() <= kMostMarkers) marks += marker(i, x, y, colour(i));
      }
      pen_down = drawn;
    }
    if (path.empty()) return;
    out_ += format(
        "<path d=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"2.2\" "
        "stroke-linejoin=\"round\" stroke-linecap=\"round\"{}/>\n",
        path, escaped(colour(i)), series.dashed ? " stroke-dasharray=\"7 5\"" : "");
    out_ += marks;
  }

  void labels() {
    std::vector<double> ends_x, ends_y, heights;
    for (const Series& series : figure_.series) {
      auto last = std::find_if(series.points.rbegin(), series.points.rend(), finite);
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
            ends_x[i] + 6, ends_y[i], right_ + 9, ends_y[i], x - 4, centres[i], escaped(colour(i)));
      out_ += text(x, y, label(series), kNameSize, escaped(colour(i)), " font-weight=\"600\"");
      if (!series.detail.empty()) out_ += text(x, y + 15, series.detail, kDetailSize, "#666666");
    }
  }

  static bool empty(const Series& series) {
    return std::none_of(series.points.begin(), series.points.end(), finite);
  }
  static std::string label(const Series& series) {
    return series.name + (empty(series) ? " (no data)" : "");
  }
  static double label_height(const Series& series) { return series.detail.empty() ? 19 : 37; }
  std::string colour(size_t i) const {
    const std::string& own = figure_.series[i].colour;
    return own.empty() ? kPalette[i % kPalette.size()] : own;
  }
  double at_x(double x) const {
    return kLeft + 8 + (x - x_.low) / (x_.high - x_.low) * (kPlotWidth - 16);
  }
  double at_y(double y) const {
    double share = std::clamp((y - y_.low) / (y_.high - y_.low), 0.0, 1.0);
    return bottom_ - share * (bottom_ - top_);
  }

  const Figure& figure_;
  Limits x_, y_;
  double top_ = 0, bottom_ = 0, right_ = 0, width_ = 0, height_ = 0;
  std::string out_;
};

}  // namespace

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
