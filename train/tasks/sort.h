#pragma once

#include <memory>

#include "train/task.h"

namespace lookback {

/// The target is the source's symbols in order: `c a b a` -> `a a b c`. The negative control of the
/// fixed context: the target is as long as that of copy, but how often each symbol occurs is all that
/// it needs, and a state can carry that however long the source is.
std::unique_ptr<Task> make_sort(Section& section);

}  // namespace lookback
