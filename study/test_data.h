#pragma once

#include <optional>
#include <string>

#include "study/plan.h"
#include "train/dataset.h"

namespace lookback {

/// The made-up data that a study tests a configuration on: its task, with sentences as short and as
/// long as the test wants; nothing for text. UserError, beginning with `place`, where the test asks
/// for what the data have not: lengths of text, of sources that the task has none of, or of a task
/// whose vocabulary grows with its length.
std::optional<TaskDataOptions> test_data(const Config& config, const Recipe& recipe,
                                         const StudyTest& test, const std::string& place);

}  // namespace lookback
