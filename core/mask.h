#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "core/ids.h"

namespace lookback {

/// Which keys a query may attend to. One polarity everywhere: **true means "may be attended to"**.
/// Padding, causality, or both: a sentence's padding is (B, S) flags over its keys, the same for all
/// of its queries; a causal mask lets query t see no key after it. Copying shares the flags.
class Mask {
 public:
  Mask() = default;
  Mask(int64_t rows, int64_t columns, std::vector<uint8_t> allowed);
  /// Row b allows positions 0 .. lengths[b] - 1 of `columns`.
  static Mask from_lengths(const Lengths& lengths, int64_t columns);

  /// No query sees a key after it. Where there are fewer queries than keys, the last query stands
  /// at the last key.
  static Mask causal();
  Mask and_causal() const;
  /// These sentences, in this order; one may come several times.
  Mask take(std::span<const int64_t> sentences) const;

  /// Whether it has padding flags.
  bool defined() const { return allowed_ != nullptr; }
  bool is_causal() const { return causal_; }
  /// Causality lets query t of `queries` see keys [0, visible(t, queries, keys)).
  int64_t visible(int64_t t, int64_t queries, int64_t keys) const {
    return causal_ ? std::clamp<int64_t>(keys - queries + t + 1, 0, keys) : keys;
  }
  int64_t rows() const { return rows_; }
  int64_t columns() const { return columns_; }
  bool at(int64_t row, int64_t column) const { return (*allowed_)[row * columns_ + column] != 0; }
  const uint8_t* row(int64_t row) const { return allowed_->data() + row * columns_; }

 private:
  int64_t rows_ = 0, columns_ = 0;
  bool causal_ = false;
  std::shared_ptr<const std::vector<uint8_t>> allowed_;
};

}  // namespace lookback
