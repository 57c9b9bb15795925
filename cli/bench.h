#pragma once

#include <string>

#include "train/measure.h"
#include "train/measure_translation.h"

namespace lookback::cli {

/// `bench --translate`: measures and prints.
void bench_translation(const Recipe& recipe, const TranslationOptions& options, bool json);

/// `bench --scaling`: measures, prints, and writes a report where a file is named.
void bench_scaling(const Config& config, const BenchOptions& shape, const std::string& report,
                   const std::string& command, bool json);

}  // namespace lookback::cli
