#pragma once

#include <string_view>

namespace lookback {

/// The files of this folder, and the chart library, as the build wrote them into the program.
struct PageFiles {
  std::string_view html;  ///< the frame: {{title}}, {{style}}, {{chart}}, {{data}}, {{script}}
  std::string_view css;
  std::string_view script;
  std::string_view chart;  ///< Chart.js, with its licence's line
};
PageFiles page_files();

}  // namespace lookback
