#include "core/allocator.h"

#include <gtest/gtest.h>

#include <cstring>
#include <thread>
#include <vector>

#include "core/tensor.h"
#include "support/error_text.h"

namespace lookback {
namespace {

TEST(Allocator, AFreedBlockIsHandedOutAgain) {
  void* first = cached_allocate(5000);
  cached_release(first);
  MemoryCounts before = memory_counts();
  // 5000 and 4200 bytes fall into one class, (4096, 5120].
  for (size_t bytes : {5000, 4200, 5120}) {
    void* again = cached_allocate(bytes);
    EXPECT_EQ(again, first) << bytes;
    cached_release(again);
  }
  EXPECT_EQ(memory_counts().system_allocations, before.system_allocations);
  EXPECT_EQ(memory_counts().system_bytes, before.system_bytes);
}

TEST(Allocator, BlocksAreAlignedAndHoldWhatWasAskedFor) {
  std::vector<std::pair<unsigned char*, size_t>> blocks;
  for (size_t bytes = 0; bytes < 700; bytes += 3) {
    auto* block = static_cast<unsigned char*>(cached_allocate(bytes));
    EXPECT_EQ(reinterpret_cast<uintptr_t>(block) % 64, 0u);
    std::memset(block, static_cast<int>(bytes % 251), bytes);
    blocks.emplace_back(block, bytes);
  }
  for (auto [block, bytes] : blocks) {
    for (size_t i = 0; i < bytes; ++i) ASSERT_EQ(block[i], bytes % 251);
    cached_release(block);
  }
}

TEST(Allocator, WasteIsAtMostAQuarter) {
  for (size_t bytes :
       {64, 65, 80, 81, 127, 128, 129, 1000, 4096, 4097, 100000, 1 << 20, (1 << 20) + 1}) {
    uint64_t before = memory_counts().in_use_bytes;
    void* block = cached_allocate(bytes);
    uint64_t taken = memory_counts().in_use_bytes - before;
    EXPECT_GE(taken, bytes);
    EXPECT_LE(taken, bytes + bytes / 4) << bytes;
    cached_release(block);
    EXPECT_EQ(memory_counts().in_use_bytes, before);
  }
}

TEST(Allocator, PeakIsTheMostEverHandedOut) {
  reset_memory_peak();
  uint64_t start = memory_counts().in_use_bytes;
  EXPECT_EQ(memory_counts().peak_bytes, start);
  {
    Tensor a({1 << 18});
    { Tensor b({1 << 18}); }
    Tensor c({1 << 18});
  }
  EXPECT_EQ(memory_counts().in_use_bytes, start);
  uint64_t two = 2 * (1 << 18) * sizeof(Real);
  EXPECT_GE(memory_counts().peak_bytes, start + two);
  EXPECT_LE(memory_counts().peak_bytes, start + two + 1024);  // and what the handles take
}

TEST(Allocator, KeptMemoryCanBeGivenBack) {
  cached_release(cached_allocate(3 << 20));
  uint64_t kept = memory_counts().system_bytes;
  release_cached_memory();
  EXPECT_LE(memory_counts().system_bytes + (3 << 20), kept);
  EXPECT_GE(memory_counts().system_bytes, memory_counts().in_use_bytes);
}

TEST(Allocator, ServesThreadsAtTheSameTime) {
  uint64_t before = memory_counts().in_use_bytes;
  std::vector<std::thread> team;
  std::vector<int> torn(4, 0);
  for (int id = 0; id < 4; ++id)
    team.emplace_back([id, &torn] {
      std::vector<std::pair<unsigned char*, size_t>> mine;
      for (int round = 0; round < 3000; ++round) {
        size_t bytes = static_cast<size_t>(64 + (round * 37 + id) % 400);
        auto* block = static_cast<unsigned char*>(cached_allocate(bytes));
        std::memset(block, id + 1, bytes);
        mine.emplace_back(block, bytes);
        if (mine.size() < 8) continue;
        // A block that two threads got at once would hold another's mark.
        for (size_t i = 0; i < mine[0].second; ++i) torn[id] += mine[0].first[i] != id + 1;
        cached_release(mine[0].first);
        mine.erase(mine.begin());
      }
      for (auto [block, bytes] : mine) cached_release(block);
    });
  for (std::thread& thread : team) thread.join();
  EXPECT_EQ(torn, std::vector<int>(4, 0));
  EXPECT_EQ(memory_counts().in_use_bytes, before);
}

TEST(Allocator, AnAbsurdSizeIsAnErrorNotAnAbort) {
  EXPECT_NE(testing::error_text([] { cached_allocate(size_t{1} << 62); }).find("[allocate]"),
            std::string::npos);
  cached_release(nullptr);
}

}  // namespace
}  // namespace lookback
