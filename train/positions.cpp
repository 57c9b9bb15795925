#include "train/positions.h"

#include <algorithm>

#include "core/error.h"

namespace lookback {

int64_t PositionLimits::least() const {
  if (source < 0 || target < 0) return std::max(source, target);
  return std::min(source, target);
}

PositionLimits position_limits(const EncoderDecoder& model) {
  return {.source = model.max_source_positions(), .target = model.max_target_positions()};
}

std::optional<TooLong> too_long(const Example& example, const PositionLimits& limits) {
  auto side = [](bool source, size_t words, int64_t limit) -> std::optional<TooLong> {
    int64_t tokens = static_cast<int64_t>(words) + 1;
    if (limit < 0 || tokens <= limit) return {};
    const char* who = source ? "encoder" : "decoder";
    return TooLong{source, format("{} tokens with the end mark, but the {}'s learned positions end "
                                  "at {} (model.{}.max_positions)",
                                  tokens, who, limit, who)};
  };
  std::optional<TooLong> source = side(true, example.source.size(), limits.source);
  return source ? source : side(false, example.target.size(), limits.target);
}

}  // namespace lookback
