#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "study/page.h"

namespace lookback {

/// The report of a run folder: learning curves, accuracy by source length with the 95% interval
/// over sentences, attention maps of some held-out sentences, the configuration, and the command
/// that repeats the run. Measures the best model (else the last). UserError where the folder holds
/// no model.
Page run_report(const std::string& run_folder, const std::string& program);

/// The 95% interval of a share of `right` among `count` (Wilson, 1927): inside [0, 1], and not
/// empty where all or none are right.
std::pair<double, double> share_interval(double share, int64_t count);

}  // namespace lookback
