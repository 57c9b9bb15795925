#pragma once

#include <memory>

#include "train/task.h"

namespace lookback {

/// Letters and then a number k; the target is the k-th letter: `d f a c 2` -> `f`. The number comes
/// last, so a reader must have kept all the letters, while one position alone causes the output:
/// for asking whether weights of attention point at causes.
std::unique_ptr<Task> make_copy_token(Section& section);

}  // namespace lookback
