#pragma once

#include <omp.h>

#include <algorithm>
#include <cstdint>
#include <exception>

namespace lookback {

/// How many threads parallel loops may use; at first the number of cores this process may run on.
int threads();
/// At least 1. No result depends on it, only the time.
void set_threads(int count);
/// Cores that this process may run on.
int available_cores();

namespace detail {
/// Whether this thread already works inside a parallel loop; loops inside it then run alone.
inline thread_local bool inside_parallel = false;

struct InsideParallel {
  bool before = inside_parallel;
  InsideParallel() { inside_parallel = true; }
  ~InsideParallel() { inside_parallel = before; }
};
}  // namespace detail

/// Runs body(i) for i in [0, count), each wholly on one thread. The first exception is thrown again here.
template <class Body>
void parallel_tasks(int64_t count, Body&& body) {
  int team = static_cast<int>(std::min<int64_t>(threads(), count));
  if (team <= 1 || detail::inside_parallel) {
    for (int64_t i = 0; i < count; ++i) {
      // Alone or beside others, a task sees the same surroundings: its own loops run on one thread.
      detail::InsideParallel inside;
      body(i);
    }
    return;
  }
  std::exception_ptr error;
#pragma omp parallel for num_threads(team) schedule(dynamic, 1)
  for (int64_t i = 0; i < count; ++i) {
    detail::InsideParallel inside;
    try {
      body(i);
    } catch (...) {
#pragma omp critical(lookback_parallel_error)
      if (!error) error = std::current_exception();
    }
  }
  if (error) std::rethrow_exception(error);
}

/// Runs body(begin, end) over pieces that cover [0, count). Pieces hold at least `grain` items, so that a
/// small loop is not split: opening a team costs some microseconds. The body must not throw, and what it
/// computes for one item must not depend on where the pieces begin.
template <class Body>
void parallel_for(int64_t count, int64_t grain, Body&& body) {
  int64_t team = std::min<int64_t>(threads(), count / std::max<int64_t>(grain, 1));
  if (team <= 1 || detail::inside_parallel) {
    if (count > 0) body(int64_t{0}, count);
    return;
  }
#pragma omp parallel for num_threads(static_cast<int>(team)) schedule(static, 1)
  for (int64_t part = 0; part < team; ++part) {
    detail::InsideParallel inside;
    body(count * part / team, count * (part + 1) / team);
  }
}

}  // namespace lookback
