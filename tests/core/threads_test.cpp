#include "core/threads.h"

#include <gtest/gtest.h>

#include <atomic>
#include <set>
#include <vector>

#include "core/error.h"

namespace lookback {
namespace {

/// Puts the number of threads back.
struct WithThreads {
  int before = threads();
  ~WithThreads() { set_threads(before); }
};

TEST(Threads, AreAtLeastOne) {
  WithThreads restore;
  EXPECT_GE(available_cores(), 1);
  set_threads(0);
  EXPECT_EQ(threads(), 1);
  set_threads(-3);
  EXPECT_EQ(threads(), 1);
  set_threads(5);
  EXPECT_EQ(threads(), 5);
}

TEST(ParallelFor, CoversEveryIndexOnce) {
  WithThreads restore;
  for (int team : {1, 2, 5})
    for (int64_t count : {0, 1, 2, 3, 7, 16, 101, 1000})
      for (int64_t grain : {0, 1, 3, 50, 2000}) {
        set_threads(team);
        std::vector<std::atomic<int>> seen(static_cast<size_t>(count));
        parallel_for(count, grain, [&](int64_t begin, int64_t end) {
          for (int64_t i = begin; i < end; ++i) ++seen[static_cast<size_t>(i)];
        });
        for (int64_t i = 0; i < count; ++i)
          ASSERT_EQ(seen[static_cast<size_t>(i)], 1)
              << team << " threads, " << count << " items, " << i;
      }
}

TEST(ParallelFor, PiecesHoldAtLeastTheGrain) {
  WithThreads restore;
  set_threads(5);
  std::atomic<int> pieces{0}, small{0};
  parallel_for(100, 30, [&](int64_t begin, int64_t end) {
    ++pieces;
    if (end - begin < 30) ++small;
  });
  EXPECT_EQ(pieces, 3);
  EXPECT_EQ(small, 0);
}

TEST(ParallelFor, InsideAnotherLoopRunsAlone) {
  WithThreads restore;
  set_threads(5);
  std::atomic<int> pieces{0}, covered{0};
  parallel_for(5, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i)
      parallel_for(1000, 1, [&](int64_t from, int64_t to) {
        ++pieces;
        covered += static_cast<int>(to - from);
      });
  });
  EXPECT_EQ(pieces, 5);
  EXPECT_EQ(covered, 5000);
  EXPECT_FALSE(detail::inside_parallel);
}

TEST(ParallelTasks, RunEachTaskOnceAndTheirLoopsAlone) {
  WithThreads restore;
  for (int team : {1, 2, 5}) {
    set_threads(team);
    std::vector<std::atomic<int>> seen(23);
    std::atomic<int> inner{0}, nested_tasks{0};
    parallel_tasks(23, [&](int64_t i) {
      ++seen[static_cast<size_t>(i)];
      parallel_for(100, 1, [&](int64_t, int64_t) { ++inner; });
      parallel_tasks(2, [&](int64_t) { ++nested_tasks; });
    });
    for (auto& times : seen) EXPECT_EQ(times, 1);
    EXPECT_EQ(inner, 23) << "alone or beside others, a task's loops run on one thread";
    EXPECT_EQ(nested_tasks, 46);
    EXPECT_FALSE(detail::inside_parallel);
  }
}

TEST(ParallelTasks, AnExceptionArrivesAtTheCaller) {
  WithThreads restore;
  for (int team : {1, 2, 5}) {
    set_threads(team);
    try {
      parallel_tasks(8, [](int64_t i) {
        if (i == 3) fail("task {}", i);
      });
      FAIL() << "no exception";
    } catch (const Error& error) {
      EXPECT_STREQ(error.what(), "task 3");
    }
    EXPECT_FALSE(detail::inside_parallel);
    std::atomic<int> after{0};
    parallel_tasks(4, [&](int64_t) { ++after; });
    EXPECT_EQ(after, 4);
  }
}

}  // namespace
}  // namespace lookback
