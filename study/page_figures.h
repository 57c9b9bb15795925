#pragma once

#include <string>
#include <utility>
#include <vector>

#include "study/page.h"

namespace lookback {

/// The curves and maps of a page as SVG documents for slides, named after their titles
/// (`by_source_length`), in the page's order. Of a block of maps the first.
std::vector<std::pair<std::string, std::string>> svg_figures(const Page& page);

/// Writes SVG documents to `folder`/figures/NAME.svg, in place of all that stood there.
void write_figures(const std::vector<std::pair<std::string, std::string>>& figures,
                   const std::string& folder);

}  // namespace lookback
