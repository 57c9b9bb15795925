#pragma once

#include <memory>

#include "train/task.h"

namespace lookback {

/// Dates in English to ISO 8601: `the 3 rd of march 1 9 8 7` -> `1 9 8 7 - 0 3 - 0 3`. Numbers are
/// read and written digit by digit, so a picture of the weights shows which digit comes from where:
/// years, months and days change places. Every source has one right target: forms in which day and
/// month can be mistaken (04/05/2003) and years of two digits do not occur.
std::unique_ptr<Task> make_dates(Section& section);

}  // namespace lookback
