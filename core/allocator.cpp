#include "core/allocator.h"

#include <sys/mman.h>

#include <array>
#include <atomic>
#include <bit>
#include <cstdlib>
#include <mutex>
#include <new>
#include <vector>

#include "core/error.h"

namespace lookback {
namespace {

// A header of one cache line stands in front of each block, so that a release needs no size.
struct alignas(64) Header {
  size_t size_class;
  size_t bytes;
};

constexpr size_t kClasses = 4 * 48;
constexpr size_t kSmallest = 6;  // 64 bytes

/// Class c holds blocks of (4 + c % 4) << (c / 4 + 4) bytes: 64, 80, 96, 112, 128, 160, ...
size_t class_of(size_t bytes) {
  if (bytes <= (size_t{1} << kSmallest)) return 0;
  size_t power = std::bit_width(bytes - 1) - 1;  // 2^power < bytes <= 2^(power + 1)
  size_t quarter = ((bytes - 1) >> (power - 2)) - 4;
  return (power - kSmallest) * 4 + quarter + 1;
}

size_t bytes_of(size_t size_class) {
  return (4 + size_class % 4) << (size_class / 4 + kSmallest - 2);
}

constexpr size_t kHugePage = size_t{1} << 21;

/// Memory of the system. A large block lies on huge pages where the system gives them: a product that
/// passes through megabytes of weights otherwise waits for the address of every 4 KiB of them.
void* from_system(size_t bytes) {
  if (bytes < kHugePage) return std::aligned_alloc(64, (bytes + 63) / 64 * 64);
  void* raw = std::aligned_alloc(kHugePage, (bytes + kHugePage - 1) / kHugePage * kHugePage);
#ifdef MADV_HUGEPAGE
  // Whole ones alone: a last one that is used in part would be taken in full. A refusal costs nothing but time.
  if (raw) madvise(raw, bytes / kHugePage * kHugePage, MADV_HUGEPAGE);
#endif
  return raw;
}

struct FreeList {
  std::mutex mutex;
  std::vector<Header*> blocks;
};

struct Cache {
  std::array<FreeList, kClasses> lists;
  std::atomic<uint64_t> in_use{0}, peak{0}, system{0}, allocations{0};
};

Cache& cache() {
  static Cache* instance =
      new Cache;  // never destroyed: buffers may be freed by other statics at exit
  return *instance;
}

}  // namespace

void* cached_allocate(size_t bytes) {
  size_t size_class = class_of(bytes);
  Cache& c = cache();
  if (size_class >= kClasses) fail("[allocate] {} bytes asked for in one block", bytes);
  size_t rounded = bytes_of(size_class);
  Header* header = nullptr;
  {
    FreeList& list = c.lists[size_class];
    std::lock_guard lock(list.mutex);
    if (!list.blocks.empty()) {
      header = list.blocks.back();
      list.blocks.pop_back();
    }
  }
  if (!header) {
    size_t whole = sizeof(Header) + rounded;
    void* raw = from_system(whole);
    if (!raw) {  // what is kept for other sizes may be what is lacking
      release_cached_memory();
      raw = from_system(whole);
    }
    if (!raw)
      fail("[allocate] out of memory: {} bytes asked for, {} in use", bytes, c.in_use.load());
    header = new (raw) Header{size_class, rounded};
    c.system += rounded;
    ++c.allocations;
  }
  uint64_t now = c.in_use.fetch_add(rounded, std::memory_order_relaxed) + rounded;
  uint64_t peak = c.peak.load(std::memory_order_relaxed);
  while (now > peak && !c.peak.compare_exchange_weak(peak, now, std::memory_order_relaxed)) {
  }
  return header + 1;
}

void cached_release(void* block) {
  if (!block) return;
  Header* header = static_cast<Header*>(block) - 1;
  Cache& c = cache();
  c.in_use.fetch_sub(header->bytes, std::memory_order_relaxed);
  FreeList& list = c.lists[header->size_class];
  std::lock_guard lock(list.mutex);
  list.blocks.push_back(header);
}

MemoryCounts memory_counts() {
  Cache& c = cache();
  return {c.in_use, c.peak, c.system, c.allocations};
}

void reset_memory_peak() {
  Cache& c = cache();
  c.peak = c.in_use.load();
}

void release_cached_memory() {
  Cache& c = cache();
  for (FreeList& list : c.lists) {
    std::lock_guard lock(list.mutex);
    for (Header* header : list.blocks) {
      c.system -= header->bytes;
      std::free(header);
    }
    list.blocks.clear();
  }
}

}  // namespace lookback
