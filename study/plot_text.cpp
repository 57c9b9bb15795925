#include "study/plot_text.h"

#include <algorithm>
#include <cmath>

#include "core/error.h"
#include "study/axis.h"
#include "study/heatmap_figure.h"
#include "study/text_width.h"

namespace lookback {
namespace {

constexpr size_t kHeight = 15, kWidest = 64, kNarrowest = 16;

char letter(size_t series) {
  static const std::string letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
  return series < letters.size() ? letters[series] : '*';
}

/// The plot's inside: rows from the top.
class Canvas {
 public:
  Canvas(size_t width, const Figure& figure, const Axis& x, const Axis& y)
      : width_(width), figure_(figure), x_(x), y_(y), rows_(kHeight, std::string(width, ' ')) {}

  size_t column(double x) const { return spot(x_.place(x), width_); }
  size_t row(double y) const { return kHeight - 1 - spot(y_.place(y), kHeight); }
  const std::string& text(size_t row) const { return rows_[row]; }
  bool several_meet() const { return several_meet_; }

  void draw() {
    for (const Series& series : figure_.series) join(series);
    for (size_t i = 0; i < figure_.series.size(); ++i) {
      for (const auto& point : figure_.series[i].points) {
        if (!drawn(figure_, point)) continue;
        char& at = rows_[row(point.second)][column(point.first)];
        bool taken = at != ' ' && at != '.' && at != letter(i);
        several_meet_ = several_meet_ || taken;
        at = taken ? '+' : letter(i);
      }
    }
  }

 private:
  static size_t spot(double share, size_t count) {
    return static_cast<size_t>(std::lround(share * static_cast<double>(count - 1)));
  }

  /// Dots in the columns between neighbouring points.
  void join(const Series& series) {
    for (size_t k = 1; k < series.points.size(); ++k) {
      const auto &from = series.points[k - 1], &to = series.points[k];
      if (!drawn(figure_, from) || !drawn(figure_, to)) continue;
      size_t first = column(from.first), last = column(to.first);
      double low = y_.place(from.second), high = y_.place(to.second);
      for (size_t at = first + 1; at < last; ++at) {
        double part = static_cast<double>(at - first) / static_cast<double>(last - first);
        size_t row = kHeight - 1 - spot(low + (high - low) * part, kHeight);
        rows_[row][at] = '.';
      }
    }
  }

  size_t width_;
  const Figure& figure_;
  const Axis &x_, &y_;
  std::vector<std::string> rows_;
  bool several_meet_ = false;
};

/// Tick labels under the plot, those left out that would touch the one before.
std::string labels_below(const Axis& x, const Canvas& canvas, size_t margin, size_t width) {
  std::string line;
  for (size_t i = 0; i < x.ticks.size(); ++i) {
    size_t own = x.labels[i].size(), centre = margin + canvas.column(x.ticks[i]);
    size_t start = std::min(centre - std::min(centre, own / 2), width - std::min(width, own));
    if (!line.empty() && start < line.size() + 2) continue;
    line += std::string(start > line.size() ? start - line.size() : 0, ' ') + x.labels[i];
  }
  return line;
}

void append_wrapped(std::vector<std::string>& lines, const std::string& text, size_t width,
                    size_t indent) {
  size_t room = width > indent + 8 ? width - indent : 8;
  for (const std::string& line : wrapped(text, room))
    lines.push_back(std::string(lines.empty() ? 0 : indent, ' ') + line);
}

std::string legend_entry(const Figure& figure, size_t i) {
  const Series& series = figure.series[i];
  bool any = std::any_of(series.points.begin(), series.points.end(),
                         [&](const auto& point) { return drawn(figure, point); });
  std::string text = format("{}  {}", letter(i), printable(series.name));
  if (!any) text += " (no data)";
  if (!series.detail.empty()) text += format(" - {}", printable(series.detail));
  return text;
}

constexpr size_t kLongestRow = 16, kLongestColumn = 12;

/// Two columns wide each. Below zero the shades are others, for a terminal may have no colours.
std::string shade(double value, double high) {
  if (!std::isfinite(value)) return "  ";
  static const std::vector<std::string> up = {"· ", "░░", "▒▒", "▓▓", "██"},
                                        down = {"· ", "--", "==", "%%", "##"};
  size_t level = std::min<size_t>(4, static_cast<size_t>(std::abs(value) / high * 5));
  return value < 0 ? down[level] : up[level];
}

/// The single characters of a token, in two columns each.
std::vector<std::string> stacked(const std::string& token) {
  std::vector<std::string> lines;
  for (const std::string& line : wrapped(shortened(token, kLongestColumn), 1))
    lines.push_back(padded(line, 2));
  return lines;
}

}  // namespace

std::vector<std::string> plot_text(const Figure& figure, size_t width) {
  Axis x = x_axis(figure, 8), y = y_axis(figure, 6);
  size_t margin = 0;
  for (const std::string& label : y.labels) margin = std::max(margin, label.size());
  margin += 2;  // a blank and the axis
  size_t inside = std::clamp(width > margin ? width - margin : 0, kNarrowest, kWidest);
  Canvas canvas(inside, figure, x, y);
  canvas.draw();
  std::vector<std::string> lines;
  if (!figure.y_label.empty()) append_wrapped(lines, printable(figure.y_label), width, 0);
  for (size_t row = 0; row < kHeight; ++row) {
    std::string label;
    for (size_t i = 0; i < y.ticks.size(); ++i)
      if (canvas.row(y.ticks[i]) == row) label = y.labels[i];
    std::string line = padded(label, margin - 2, true) + (label.empty() ? " |" : " +");
    line += canvas.text(row);
    lines.push_back(line.substr(0, line.find_last_not_of(' ') + 1));
  }
  lines.push_back(std::string(margin - 1, ' ') + "+" + std::string(inside, '-'));
  lines.push_back(labels_below(x, canvas, margin, margin + inside));
  if (!figure.x_label.empty()) {
    std::string label = shortened(printable(figure.x_label), width);
    size_t own = text_width(label), room = margin + inside;
    lines.push_back(std::string(room > own ? (room - own) / 2 : 0, ' ') + label);
  }
  for (size_t i = 0; i < figure.series.size(); ++i) {
    std::vector<std::string> entry;
    append_wrapped(entry, legend_entry(figure, i), width, 3);
    lines.insert(lines.end(), entry.begin(), entry.end());
  }
  if (canvas.several_meet()) lines.push_back("+  several");
  for (const Note& note : figure.notes) {
    std::vector<std::string> entry;
    append_wrapped(entry, printable(note.text), width, 0);
    lines.insert(lines.end(), entry.begin(), entry.end());
  }
  return lines;
}

std::vector<std::string> heatmap_text(const Heatmap& map, size_t width) {
  check_sizes(map);
  if (map.rows.empty() || map.columns.empty()) return {"(no data)"};
  HeatmapScale scale = heatmap_scale(map);
  size_t margin = 0;
  std::vector<std::string> rows;
  for (const std::string& token : map.rows) {
    rows.push_back(shortened(printable(token), kLongestRow));
    margin = std::max(margin, text_width(rows.back()));
  }
  size_t across = std::max<size_t>(4, width > margin + 1 ? (width - margin - 1) / 2 : 0);
  std::vector<std::string> lines;
  auto add = [&lines](const std::string& line) {
    lines.push_back(line.substr(0, line.find_last_not_of(' ') + 1));
  };
  for (size_t first = 0; first < map.columns.size(); first += across) {
    size_t last = std::min(first + across, map.columns.size());
    if (first > 0) lines.emplace_back();
    std::vector<std::vector<std::string>> heads;
    size_t tall = 0;
    for (size_t k = first; k < last; ++k) {
      heads.push_back(stacked(printable(map.columns[k])));
      tall = std::max(tall, heads.back().size());
    }
    for (size_t level = 0; level < tall; ++level) {
      std::string line(margin + 1, ' ');
      for (const auto& head : heads) {
        size_t above = tall - head.size();  // tokens end at the map
        line += level < above ? "  " : head[level - above];
      }
      add(line);
    }
    for (size_t i = 0; i < rows.size(); ++i) {
      std::string line = padded(rows[i], margin, true) + " ";
      for (size_t k = first; k < last; ++k) line += shade(map.values[i][k], scale.high);
      add(line);
    }
  }
  lines.push_back(
      format("· below {0:.3g}  ░ from {0:.3g}  ▒ {1:.3g}  ▓ {2:.3g}  █ {3:.3g} to {4:.3g}",
             scale.high * 0.2, scale.high * 0.4, scale.high * 0.6, scale.high * 0.8, scale.high));
  if (scale.diverging) lines.push_back("below zero as far: -  =  %  #");
  return lines;
}

}  // namespace lookback
