#include "core/random.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "core/error.h"

namespace lookback {
namespace {

uint64_t splitmix(uint64_t x) {
  x += 0x9e3779b97f4a7c15ull;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
  return x ^ (x >> 31);
}

constexpr std::array<uint32_t, 2> kMultiply = {0xD2511F53u, 0xCD9E8D57u};

std::array<uint32_t, 2> next_key(std::array<uint32_t, 2> k) {
  return {k[0] + 0x9E3779B9u, k[1] + 0xBB67AE85u};
}

/// Ten rounds of Philox4x32: two 32x32 -> 64 bit products and a key schedule by Weyl increments.
std::array<uint32_t, 4> philox(std::array<uint32_t, 4> c, std::array<uint32_t, 2> k) {
  for (int round = 0; round < 10; ++round) {
    uint64_t p0 = uint64_t{kMultiply[0]} * c[0], p1 = uint64_t{kMultiply[1]} * c[2];
    c = {static_cast<uint32_t>(p1 >> 32) ^ c[1] ^ k[0], static_cast<uint32_t>(p1),
         static_cast<uint32_t>(p0 >> 32) ^ c[3] ^ k[1], static_cast<uint32_t>(p0)};
    k = next_key(k);
  }
  return c;
}

}  // namespace

uint64_t mix(const RandomKey& key) {
  uint64_t h = splitmix(key.seed);
  h = splitmix(h ^ key.purpose);
  h = splitmix(h ^ key.step);
  return splitmix(h ^ key.index);
}

Random::Random(const RandomKey& key) {
  uint64_t stream = splitmix(splitmix(key.seed) ^ key.purpose);
  uint64_t place = mix(key);
  key_ = {static_cast<uint32_t>(stream), static_cast<uint32_t>(stream >> 32)};
  counter_ = {0, 0, static_cast<uint32_t>(place), static_cast<uint32_t>(place >> 32)};
}

uint32_t Random::bits() {
  if (used_ == 4) {
    block_ = philox(counter_, key_);
    if (++counter_[0] == 0) ++counter_[1];
    used_ = 0;
  }
  return block_[used_++];
}

void Random::fill(uint32_t* out, int64_t count) {
  for (; count > 0 && used_ < 4; --count) *out++ = bits();
  // Blocks do not depend on each other, so that several go side by side in vectors.
  constexpr int kLanes = 8;
  while (count > 4) {
    const uint64_t place = uint64_t{counter_[1]} << 32 | counter_[0];
    uint32_t c[4][kLanes];
    for (int i = 0; i < kLanes; ++i) {
      uint64_t own = place + static_cast<uint64_t>(i);
      c[0][i] = static_cast<uint32_t>(own), c[1][i] = static_cast<uint32_t>(own >> 32);
      c[2][i] = counter_[2], c[3][i] = counter_[3];
    }
    std::array<uint32_t, 2> k = key_;
    for (int round = 0; round < 10; ++round, k = next_key(k))
      for (int i = 0; i < kLanes; ++i) {
        uint64_t p0 = uint64_t{kMultiply[0]} * c[0][i], p1 = uint64_t{kMultiply[1]} * c[2][i];
        c[0][i] = static_cast<uint32_t>(p1 >> 32) ^ c[1][i] ^ k[0];
        c[2][i] = static_cast<uint32_t>(p0 >> 32) ^ c[3][i] ^ k[1];
        c[1][i] = static_cast<uint32_t>(p1), c[3][i] = static_cast<uint32_t>(p0);
      }
    const int64_t blocks = std::min<int64_t>(kLanes, count / 4);
    for (int64_t i = 0; i < blocks; ++i)
      for (int j = 0; j < 4; ++j) *out++ = c[j][i];
    const uint64_t next = place + static_cast<uint64_t>(blocks);
    counter_[0] = static_cast<uint32_t>(next), counter_[1] = static_cast<uint32_t>(next >> 32);
    count -= 4 * blocks;
  }
  for (; count > 0; --count) *out++ = bits();
}

double Random::uniform() {
  uint64_t high = bits() >> 5, low = bits() >> 6;  // 27 + 26 = 53 bits
  return static_cast<double>((high << 26) | low) * 0x1.0p-53;
}

int64_t Random::below(int64_t bound) {
  if (bound < 1) fail("[random] below() needs a bound of at least 1, not {}", bound);
  // Draws past the largest multiple of the bound are drawn again, or small values would be
  // favoured.
  uint64_t n = static_cast<uint64_t>(bound), limit = UINT64_MAX - UINT64_MAX % n;
  for (;;) {
    uint64_t high = bits(), draw = (high << 32) | bits();
    if (draw < limit) return static_cast<int64_t>(draw % n);
  }
}

double Random::normal() {
  double radius = std::sqrt(-2 * std::log(1 - uniform()));
  return radius * std::cos(2 * std::numbers::pi * uniform());
}

}  // namespace lookback
