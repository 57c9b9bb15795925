#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <exception>
#include <mutex>

#include "core/team.h"

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

/// Runs body(i) for i in [0, count), each wholly on one thread. The first exception is thrown again
/// here.
template <class Body>
void parallel_tasks(int64_t count, Body&& body) {
  int members = static_cast<int>(std::min<int64_t>(threads(), count));
  if (members <= 1 || detail::inside_parallel) {
    for (int64_t i = 0; i < count; ++i) {
      // Alone or beside others, a task sees the same surroundings: its own loops run on one thread.
      detail::InsideParallel inside;
      body(i);
    }
    return;
  }
  struct Work {
    Body& body;
    int64_t count;
    std::atomic<int64_t> next{0};
    std::mutex mutex{};
    std::exception_ptr error{};
  } work{body, count};
  run_team(
      members,
      [](void* context, int) {
        Work& work = *static_cast<Work*>(context);
        detail::InsideParallel inside;
        try {
          for (int64_t i; (i = work.next.fetch_add(1)) < work.count;) work.body(i);
        } catch (...) {
          std::lock_guard lock(work.mutex);
          if (!work.error) work.error = std::current_exception();
        }
      },
      &work);
  if (work.error) std::rethrow_exception(work.error);
}

/// Runs body(begin, end) over pieces that cover [0, count). Pieces hold at least `grain` items, so
/// that a small loop is not split: handing out work costs some microseconds. The body must not
/// throw, and what it computes for one item must not depend on where the pieces begin.
template <class Body>
void parallel_for(int64_t count, int64_t grain, Body&& body) {
  int64_t members = std::min<int64_t>(threads(), count / std::max<int64_t>(grain, 1));
  if (members <= 1 || detail::inside_parallel) {
    if (count > 0) body(int64_t{0}, count);
    return;
  }
  struct Work {
    Body& body;
    int64_t count, members;
  } work{body, count, members};
  run_team(
      static_cast<int>(members),
      [](void* context, int member) {
        Work& work = *static_cast<Work*>(context);
        detail::InsideParallel inside;
        work.body(work.count * member / work.members, work.count * (member + 1) / work.members);
      },
      &work);
}

}  // namespace lookback
