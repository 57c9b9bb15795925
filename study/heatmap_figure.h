#pragma once

#include <array>
#include <string>

#include "study/page.h"

namespace lookback {

/// What the colours of a map stand for: 0 to 1 where all values lie there (weights), 0 to the
/// greatest otherwise; about 0 in both directions where one is negative.
struct HeatmapScale {
  double low = 0, high = 1;
  bool diverging = false;  ///< low is -high
  /// 0 at low, 1 at high; `value` is finite.
  double share(double value) const;
};
HeatmapScale heatmap_scale(const Heatmap& map);

/// Colours from low to high, evenly spaced, for a light or a dark page. Their lightness only rises or
/// only falls (diverging: from the middle to either end), so that they can be told apart in grey.
using ColourStops = std::array<const char*, 7>;
const ColourStops& heatmap_colours(bool diverging, bool dark);
/// Between two stops; `share` from 0 to 1.
std::string colour_at(const ColourStops& stops, double share);

/// The map as an SVG document on a white card, for slides: tokens along both sides (long ones
/// shortened), values in the cells where there is room, a key of the colours below.
std::string svg(const Heatmap& map, const std::string& title, const std::string& subtitle = "");

/// Error unless values are rows x columns.
void check_sizes(const Heatmap& map);

}  // namespace lookback
