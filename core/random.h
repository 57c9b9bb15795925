#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace lookback {

/// What a random draw depends on, and nothing else: no draw depends on which draws came before it
/// in the program, on the number of threads, or on whether the run was interrupted.
struct RandomKey {
  uint64_t seed = 0;
  uint64_t purpose = 0;  ///< see purpose()
  uint64_t step = 0;
  uint64_t index = 0;
};

/// A purpose by name: FNV-1a of the text, so that streams of different uses never meet.
constexpr uint64_t purpose(std::string_view name) {
  uint64_t hash = 14695981039346656037ull;
  for (char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211ull;
  return hash;
}

/// The counter-based generator Philox4x32-10 (Salmon et al., 2011, "Parallel random numbers: as
/// easy as 1, 2, 3"): a stream of draws that is a pure function of its key.
class Random {
 public:
  explicit Random(const RandomKey& key);

  uint32_t bits();
  /// The next `count` draws of bits(), some times as fast.
  void fill(uint32_t* out, int64_t count);
  /// Uniform in [0, 1).
  double uniform();
  double uniform(double low, double high) { return low + (high - low) * uniform(); }
  /// A whole number in [0, bound), without bias; bound > 0.
  int64_t below(int64_t bound);
  /// Standard normal (Box-Muller).
  double normal();

 private:
  std::array<uint32_t, 2> key_;
  std::array<uint32_t, 4> counter_;
  std::array<uint32_t, 4> block_{};
  int used_ = 4;
};

/// One well-mixed 64-bit number of a key: SplitMix64 rounds over its parts.
uint64_t mix(const RandomKey& key);

}  // namespace lookback
