#pragma once

#include <span>
#include <vector>

#include "core/ids.h"

namespace lookback {

/// The four marks that open every vocabulary, in this order.
constexpr Id kPad = 0;
constexpr Id kUnknown = 1;
constexpr Id kBegin = 2;
constexpr Id kEnd = 3;
constexpr Id kMarks = 4;

/// One sentence and its translation as token ids, without marks.
struct Example {
  std::vector<Id> source;
  std::vector<Id> target;
  bool operator==(const Example&) const = default;
};

/// A padded batch for teacher forcing. The source ends with the end mark. The decoder reads its
/// target shifted by one: for the target `a b` it reads [BOS a b] and is to say [a b EOS].
struct Batch {
  IdMatrix source;         ///< (B, S)
  Lengths source_lengths;  ///< (B), end mark included
  IdMatrix decoder_input;  ///< (B, T)
  IdMatrix target;         ///< (B, T), kPad past the end
  Lengths target_lengths;  ///< (B), end mark included

  int64_t size() const { return source.rows; }
  int64_t target_tokens() const;  ///< the sum of target_lengths
};

Batch make_batch(std::span<const Example> examples);
/// Only the source side, for decoding.
Batch make_source_batch(std::span<const std::vector<Id>> sources);
/// The sentences at `rows` of a batch, cut to the longest of them.
Batch select(const Batch& batch, std::span<const int64_t> rows);

}  // namespace lookback
