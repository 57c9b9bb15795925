#include "core/threads.h"

#include <sched.h>

#include <atomic>

namespace lookback {
namespace {
std::atomic<int>& setting() {
  static std::atomic<int> count{available_cores()};
  return count;
}
}  // namespace

int available_cores() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) != 0) return 1;
  return std::max(1, CPU_COUNT(&set));
}

int threads() {
  return setting().load(std::memory_order_relaxed);
}

void set_threads(int count) {
  setting() = std::max(1, count);
}

}  // namespace lookback
