#pragma once

#include <algorithm>

#include "core/error.h"
#include "core/ids.h"
#include "core/shape.h"

namespace lookback {

// What the ops share that compare a row of V words with the target that stands for it.

/// Rows that make a thread's while.
inline int64_t row_grain(int64_t words) {
  return std::max<int64_t>(1, (1 << 13) / std::max<int64_t>(words, 1));
}

/// One target a row of `x` (`what` in the text of an error), each the id of one of the words.
inline void check_targets(const char* op, const char* what, const Shape& x, const IdMatrix& targets,
                          int64_t words) {
  if (x.rows() != targets.rows * targets.columns)
    fail("[{}] {} {} do not fit targets ({}, {})", op, what, x.text(), targets.rows,
         targets.columns);
  for (Id id : targets.values)
    if (id < 0 || id >= words) fail("[{}] target {} is outside the {} words", op, id, words);
}

}  // namespace lookback
