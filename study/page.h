#pragma once

#include <string>
#include <variant>
#include <vector>

#include "study/figure.h"

namespace lookback {

/// Weights or effects by row and column: target tokens down the side, source tokens along the top.
struct Heatmap {
  std::string name;                         ///< in the choice of maps: `layer 1, head 2`
  std::vector<std::string> rows, columns;   ///< tokens
  std::vector<std::vector<double>> values;  ///< rows x columns; one not finite is left empty
  /// What stands down the side and along the top, in small beside the tokens; may be empty.
  std::string row_label = "target", column_label = "source";
};

// The blocks that a report is made of.
struct TextBlock {
  std::string title;  ///< may be empty
  std::string text;   ///< paragraphs, an empty line between two
};
struct CurvesBlock {
  Figure figure;
};
struct TableBlock {
  std::string title, note;
  std::vector<std::string> columns;
  std::vector<std::vector<std::string>> rows;  ///< a column of numbers is set flush right
};
/// One map is shown at a time; where there are several, a menu chooses.
struct HeatmapBlock {
  std::string title, note;
  std::vector<Heatmap> maps;
};
struct CodeBlock {
  std::string title, code;
  bool folded = false;  ///< shown when it is opened
};
using Block = std::variant<TextBlock, CurvesBlock, TableBlock, HeatmapBlock, CodeBlock>;

/// A report: what report.html shows, from top to bottom.
struct Page {
  std::string title, subtitle;
  std::vector<Block> blocks;
};

/// One self-contained HTML document, chart library and all, that opens without a network: curves
/// and maps show values when hovered, light or dark as the reader's system is, from a phone's width
/// up. Every text is plain; whatever it holds is shown and never run. Once all is drawn,
/// window.lookbackReady is true and <html> has data-ready; the numbers stand unrounded in the JSON of
/// #page-data. Error for a table, a map or intervals whose sizes do not fit each other.
std::string html(const Page& page);

/// The same for a terminal: tables in columns, figures as small plots, maps in shades (of a block
/// with many maps the first). `width` in characters; only a table row that needs more is longer.
/// Folded code is left out. What could command a terminal is replaced.
std::string plain_text(const Page& page, int width = 80);

}  // namespace lookback
