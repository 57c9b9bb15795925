#pragma once

#include <cstdint>
#include <vector>

#include "core/ids.h"

namespace lookback {

/// What a sentence is used for: to learn from, to choose the best checkpoint, to report.
enum class Split { kTrain, kValid, kTest };

const char* split_name(Split split);  ///< `train`, `valid`, `test`

/// Where the source of a task's example belongs: 6/8 to training, 1/8 each to validation and test,
/// by a hash of (seed, source). A held-out source can therefore never be drawn in training,
/// whatever the run's own seed and however long it samples.
Split split_of(uint64_t held_out_seed, const std::vector<Id>& source);

}  // namespace lookback
