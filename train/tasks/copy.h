#pragma once

#include <memory>

#include "train/task.h"

namespace lookback {

/// The target is the source.
std::unique_ptr<Task> make_copy(Section& section);

}  // namespace lookback
