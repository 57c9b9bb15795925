#pragma once

#include <string>
#include <vector>

#include "study/page.h"

namespace lookback {

/// A figure as a small plot of characters: a letter for each series, dots between its points, `+`
/// where several meet; beneath it the letters' names. Lines of at most `width` columns.
std::vector<std::string> plot_text(const Figure& figure, size_t width);

/// A map in shades from `·` to `█` (below zero from `-` to `#`), tokens downwards along the top, in
/// several pieces side by side under each other where it is wider than `width`.
std::vector<std::string> heatmap_text(const Heatmap& map, size_t width);

}  // namespace lookback
