#pragma once

#include <algorithm>
#include <optional>
#include <string>

#include "core/config.h"
#include "models/length_penalty.h"

namespace lookback {

/// How sentences are decoded: the `decode` section.
struct DecodeOptions {
  int64_t beam = 1;    ///< hypotheses kept a sentence; 1 is greedy
  int64_t n_best = 1;  ///< hypotheses returned a sentence; of a search at most `beam`
  LengthPenalty length_penalty;
  int64_t min_length = 0;   ///< tokens before the end mark may come
  int64_t max_length = -1;  ///< tokens a sentence at most; -1 (`auto`): 2 * its source length + 10,
                            ///< or min_length where that is more
  bool sample = false;      ///< draw words instead of searching: n_best independent samples
  double temperature = 1;   ///< logits are divided by it before the draw
  int64_t top_k = 0;        ///< draw among so many likeliest words; 0: all
  double top_p = 1;         ///< draw among the fewest likeliest words that hold this probability
  uint64_t seed = 1;        ///< of the draws
  bool weights = false;     ///< keep the attention weights; not a key of the config

  /// Tokens that a sentence of so many source tokens may get.
  int64_t limit(int64_t source_tokens) const {
    return max_length >= 0 ? max_length : std::max(min_length, 2 * source_tokens + 10);
  }
};

/// What each option may be, in configs and on the command line.
namespace decode_ranges {
inline constexpr Range kHypotheses{.low = 1, .high = 1e4};  ///< beam, n_best
inline constexpr Range kAlpha{.low = 0, .high = 100};
inline constexpr Range kMinLength{.low = 0, .high = 1e5};
inline constexpr Range kMaxLength{.low = 1, .high = 1e5};
inline constexpr Range kTopK{.low = 0, .high = 1e9};
inline constexpr Range kTemperature{.low = 0, .high = 1e6, .above_low = true};
inline constexpr Range kTopP{.low = 0, .high = 1, .above_low = true};
}  // namespace decode_ranges

/// An option out of range, or two that do not go together: the key to blame, and why.
struct DecodeProblem {
  std::string key, text;
};
std::optional<DecodeProblem> problem_of(const DecodeOptions& options);

void read(Section& section, DecodeOptions& options);

}  // namespace lookback
