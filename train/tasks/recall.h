#pragma once

#include <memory>

#include "train/task.h"

namespace lookback {

/// Associative recall: pairs of a key and its value, a mark, and one of the keys; the target is that
/// key's value: `c 7 a 3 f 7 ? a` -> `3`. For looking back by content, for the place says nothing.
std::unique_ptr<Task> make_recall(Section& section);

}  // namespace lookback
