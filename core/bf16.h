#pragma once

#include <cstdint>
#include <cstring>

namespace lookback {

/// The upper half of a float: its sign, its exponent and 8 bits of precision (7 of them written down).
using Bf16 = uint16_t;

/// The nearest bf16 number, of two equally near the even one; what is past the largest is infinity, and
/// NaN stays NaN.
inline Bf16 to_bf16(float x) {
  uint32_t bits;
  std::memcpy(&bits, &x, sizeof bits);
  uint32_t rounded = (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;
  bool nan = (bits & 0x7fffffffu) > 0x7f800000u;
  return static_cast<Bf16>(nan ? (bits >> 16) | 0x40u : rounded);
}

inline float from_bf16(Bf16 x) {
  uint32_t bits = static_cast<uint32_t>(x) << 16;
  float out;
  std::memcpy(&out, &bits, sizeof out);
  return out;
}

}  // namespace lookback
