#pragma once

#include <cstddef>
#include <cstdint>

namespace lookback {

/// A caching allocator. A training step asks for the same buffers over and over; giving them back
/// to the system between steps costs a page fault for each 4 KiB touched anew. Freed buffers are
/// therefore kept in lists by size class (four classes between powers of two) and handed out again.
/// Blocks are 64-byte aligned. Safe from any thread.
void* cached_allocate(size_t bytes);
void cached_release(void* block);

struct MemoryCounts {
  uint64_t in_use_bytes = 0;        ///< handed out now
  uint64_t peak_bytes = 0;          ///< the most ever handed out since the last reset
  uint64_t system_bytes = 0;        ///< taken from the system and kept
  uint64_t system_allocations = 0;  ///< how often the system was asked; constant in a steady state
};
MemoryCounts memory_counts();
void reset_memory_peak();
/// Gives every kept, unused buffer back to the system.
void release_cached_memory();

/// The same cache behind the standard allocator interface, for the engine's nodes.
template <class T>
struct CachedAllocator {
  using value_type = T;
  CachedAllocator() = default;
  template <class U>
  CachedAllocator(const CachedAllocator<U>&) {
  }  // NOLINT: rebinding is implicit by the standard's rules
  T* allocate(size_t n) { return static_cast<T*>(cached_allocate(n * sizeof(T))); }
  void deallocate(T* block, size_t) { cached_release(block); }
  template <class U>
  bool operator==(const CachedAllocator<U>&) const {
    return true;
  }
};

}  // namespace lookback
