#pragma once

#include <vector>

#include "core/json.h"
#include "study/page.h"

namespace lookback {

/// What page.js draws: the page's own fields under their names, a block's kind as `kind`, and what is
/// decided here once for every form of a report (axes, looks of series, scales of maps, number
/// columns). A number that is not finite is null; every text is printable().
Json page_json(const Page& page);

/// JSON that may stand inside <script>: no text in it can end the element.
std::string script_json(const Json& json);

/// Which columns hold numbers only (with units, signs, intervals; dashes and blanks do not count).
std::vector<bool> number_columns(const TableBlock& table);

/// Error where a table's rows are not as long as its columns are many.
void check_sizes(const TableBlock& table);

}  // namespace lookback
