#include "study/heatmap_figure.h"

#include <algorithm>
#include <cmath>

#include "core/error.h"
#include "study/svg_text.h"
#include "study/text_width.h"

namespace lookback {
namespace {

constexpr ColourStops kLight = {"#f3f6fa", "#d3e3f1", "#a5cae6", "#6aa8d6",
                                "#3780ba", "#185a93", "#08365f"};
constexpr ColourStops kDark = {"#1c222b", "#1f3850", "#245379", "#2f74a8",
                               "#4f9acb", "#8cc4e6", "#dcf0ff"};
constexpr ColourStops kLightDiverging = {"#8c3a00", "#d07733", "#efc19a", "#f5f5f3",
                                         "#a5cae6", "#3780ba", "#08365f"};
constexpr ColourStops kDarkDiverging = {"#ffd9b0", "#d98a45", "#7a4a22", "#20242b",
                                        "#245379", "#4f9acb", "#dcf0ff"};
constexpr double kEdge = 22, kTokenSize = 12;
constexpr size_t kLongestToken = 18;

/// Red, green or blue of `#0072b2`.
int channel(const std::string& colour, size_t which) {
  return std::stoi(colour.substr(1 + 2 * which, 2), nullptr, 16);
}

/// Dark text on light cells and the other way round.
std::string ink_on(const std::string& colour) {
  double light = 0.3 * channel(colour, 0) + 0.59 * channel(colour, 1) + 0.11 * channel(colour, 2);
  return light > 140 ? "#1a1a1a" : "#ffffff";
}

/// Two digits, as short as they go: `.42`, `1`, `-3.1`.
std::string cell_text(double value) {
  if (std::abs(value) >= 0.995) return format("{:.2g}", value);
  std::string text = format("{:.2f}", value);
  if (text == "-0.00") text = "0.00";
  size_t zero = text.find('0');
  return text == "0.00" ? "0" : text.erase(zero, 1);
}

std::string rectangle(double x, double y, double width, double height, const std::string& fill,
                      const std::string& inside) {
  return format(
      "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.2f}\" height=\"{:.2f}\" fill=\"{}\"><title>{}"
      "</title></rect>\n",
      x, y, width, height, fill, markup_escaped(inside));
}

double widest(const std::vector<std::string>& tokens) {
  double width = 0;
  for (const std::string& token : tokens)
    width = std::max(width, svg_width(shortened(printable(token), kLongestToken), kTokenSize));
  return width;
}

}  // namespace

double HeatmapScale::share(double value) const {
  return std::clamp(diverging ? (value / high + 1) / 2 : value / high, 0.0, 1.0);
}

HeatmapScale heatmap_scale(const Heatmap& map) {
  double low = 0, high = 0;
  for (const auto& row : map.values) {
    for (double value : row) {
      if (!std::isfinite(value)) continue;
      low = std::min(low, value);
      high = std::max(high, value);
    }
  }
  if (low < 0) {
    high = std::max(high, -low);
    return {-high, high, true};
  }
  return {0, std::max(high, 1.0), false};
}

const ColourStops& heatmap_colours(bool diverging, bool dark) {
  if (diverging) return dark ? kDarkDiverging : kLightDiverging;
  return dark ? kDark : kLight;
}

std::string colour_at(const ColourStops& stops, double share) {
  double at = std::clamp(share, 0.0, 1.0) * static_cast<double>(stops.size() - 1);
  size_t below = std::min(static_cast<size_t>(at), stops.size() - 2);
  double part = at - static_cast<double>(below);
  std::string colour = "#";
  for (size_t which = 0; which < 3; ++which) {
    double mixed =
        channel(stops[below], which) * (1 - part) + channel(stops[below + 1], which) * part;
    colour += format("{:02x}", static_cast<int>(std::lround(mixed)));
  }
  return colour;
}

void check_sizes(const Heatmap& map) {
  if (map.values.size() != map.rows.size())
    fail("[heatmap] {} has {} rows and {} rows of values", map.name, map.rows.size(),
         map.values.size());
  for (const auto& row : map.values)
    if (row.size() != map.columns.size())
      fail("[heatmap] {} has {} columns and {} values in a row", map.name, map.columns.size(),
           row.size());
}

std::string svg(const Heatmap& map, const std::string& title, const std::string& subtitle) {
  check_sizes(map);
  HeatmapScale scale = heatmap_scale(map);
  const ColourStops& colours = heatmap_colours(scale.diverging, false);
  double columns = static_cast<double>(std::max<size_t>(1, map.columns.size()));
  double rows = static_cast<double>(std::max<size_t>(1, map.rows.size()));
  double cell = std::clamp(640 / std::max(columns, rows), 7.0, 34.0);
  bool upright = widest(map.columns) + 4 <= cell;
  double tokens_height = upright ? kTokenSize + 8 : widest(map.columns) + 10;
  double left = kEdge + std::max(widest(map.rows), svg_width(map.row_label, 11)) + 10;
  double top = (subtitle.empty() ? 56 : 76) + tokens_height + (map.column_label.empty() ? 0 : 18);
  double right = left + cell * columns, bottom = top + cell * rows;
  double key_width = std::clamp(right - left, 120.0, 240.0);
  double width = std::max({right + kEdge, left + key_width + 90, svg_width(title, 18) + 2 * kEdge,
                           svg_width(subtitle, 13) + 2 * kEdge});
  std::string out = svg_card(width, bottom + 62, title);
  out += svg_text(kEdge, 34, title, 18, "#1a1a1a", " font-weight=\"600\"");
  if (!subtitle.empty()) out += svg_text(kEdge, 55, subtitle, 13, "#555555");
  if (!map.column_label.empty())
    out += svg_text(left, top - tokens_height - 8, map.column_label + " →", 11, "#777777");
  if (!map.row_label.empty())
    out +=
        svg_text(left - 10, top - 8, map.row_label + " ↓", 11, "#777777", " text-anchor=\"end\"");
  // Tokens of cells narrower than a line of text would cover each other: only every so many.
  size_t stride = static_cast<size_t>(std::ceil(kTokenSize / cell - 1e-9));
  for (size_t k = 0; k < map.columns.size(); k += stride) {
    double x = left + cell * (static_cast<double>(k) + 0.5);
    std::string turn = upright ? " text-anchor=\"middle\""
                               : format(" transform=\"rotate(-90 {:.1f} {:.1f})\"", x + 4, top - 6);
    out +=
        svg_text(upright ? x : x + 4, top - 6, shortened(printable(map.columns[k]), kLongestToken),
                 kTokenSize, "#333333", turn);
  }
  for (size_t i = 0; i < map.rows.size(); ++i) {
    double y = top + cell * static_cast<double>(i);
    if (i % stride == 0)
      out += svg_text(left - 7, y + cell / 2 + 4, shortened(printable(map.rows[i]), kLongestToken),
                      kTokenSize, "#333333", " text-anchor=\"end\"");
    for (size_t k = 0; k < map.columns.size(); ++k) {
      double value = map.values[i][k], x = left + cell * static_cast<double>(k);
      if (!std::isfinite(value)) continue;
      std::string colour = colour_at(colours, scale.share(value));
      double size = cell - (cell > 14 ? 1 : 0);
      out += rectangle(x, y, size, size, colour,
                       format("{}, {}: {:.4g}", map.rows[i], map.columns[k], value));
      if (cell >= 26)
        out += svg_text(x + size / 2, y + size / 2 + 3.5, cell_text(value), 10,
                        cell_text(value) == "0" ? "#a3abb5" : ink_on(colour),
                        " text-anchor=\"middle\"");
    }
  }
  constexpr int kSteps = 48;
  // Each step reaches to the key's end under the next ones: no seams.
  for (int step = 0; step < kSteps; ++step) {
    double start = key_width * step / kSteps;
    out += format("<rect x=\"{:.2f}\" y=\"{:.1f}\" width=\"{:.2f}\" height=\"10\" fill=\"{}\"/>\n",
                  left + start, bottom + 18, key_width - start,
                  colour_at(colours, (step + 0.5) / kSteps));
  }
  out += svg_text(left, bottom + 43, format("{:.3g}", scale.low), 11, "#555555");
  if (scale.diverging)
    out +=
        svg_text(left + key_width / 2, bottom + 43, "0", 11, "#555555", " text-anchor=\"middle\"");
  out += svg_text(left + key_width, bottom + 43, format("{:.3g}", scale.high), 11, "#555555",
                  " text-anchor=\"end\"");
  return out + "</svg>\n";
}

}  // namespace lookback
