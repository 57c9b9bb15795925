#include "core/threads.h"

#include <gtest/gtest.h>

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <set>
#include <thread>
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

TEST(ParallelTasks, CallersFromSeveralThreadsDoNotDisturbOneAnother) {
  WithThreads restore;
  set_threads(2);
  std::atomic<int64_t> sum{0};
  auto caller = [&] {
    for (int round = 0; round < 200; ++round) parallel_tasks(7, [&](int64_t i) { sum += i; });
  };
  std::thread a(caller), b(caller), c(caller);
  a.join();
  b.join();
  c.join();
  EXPECT_EQ(sum, 3 * 200 * 21);
}

TEST(ParallelTasks, AChildProcessHasATeamOfItsOwn) {
  WithThreads restore;
  set_threads(2);
  parallel_tasks(4, [](int64_t) {});
  pid_t child = fork();
  if (child == 0) {
    std::atomic<int> done{0};
    alarm(20);  // a child that waits for its parent's threads would wait for ever
    parallel_tasks(4, [&](int64_t) { ++done; });
    _exit(done == 4 ? 0 : 1);
  }
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace lookback
