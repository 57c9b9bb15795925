#pragma once

#include "core/registry.h"
#include "train/task.h"

namespace lookback {

/// The tasks that `data.task.type` may name. A program of one's own adds to it before it reads a
/// config:
///
///     tasks().add("my_task", "what the target is", make_my_task);
Registry<TaskFactory>& tasks();

}  // namespace lookback
