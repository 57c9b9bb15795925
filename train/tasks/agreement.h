#pragma once

#include <memory>

#include "train/task.h"

namespace lookback {

/// Agreement at a distance: the third word is the subject, and the target is the verb form that goes
/// with it, however many words stand between: `the old dog near river ... road` -> `barks`. For how
/// far a gradient has to come back.
std::unique_ptr<Task> make_agreement(Section& section);

}  // namespace lookback
