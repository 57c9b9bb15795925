#pragma once

#include "core/threads.h"

namespace lookback {

/// A train() sets the number of threads of the whole process; where this goes, it is what it was.
struct ThreadsAsBefore {
  int before = threads();
  ThreadsAsBefore() = default;
  ~ThreadsAsBefore() { set_threads(before); }
  ThreadsAsBefore(const ThreadsAsBefore&) = delete;
  ThreadsAsBefore& operator=(const ThreadsAsBefore&) = delete;
};

}  // namespace lookback
