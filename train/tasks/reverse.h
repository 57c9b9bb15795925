#pragma once

#include <memory>

#include "train/task.h"

namespace lookback {

/// The target is the source backwards.
std::unique_ptr<Task> make_reverse(Section& section);

}  // namespace lookback
