#pragma once

#include <optional>
#include <string>

#include "models/encoder_decoder.h"

namespace lookback {

/// Tokens that a sentence of either side may have, end mark included; -1: no limit.
struct PositionLimits {
  int64_t source = -1;
  int64_t target = -1;

  bool any() const { return source >= 0 || target >= 0; }
  /// The smaller one, where there is any.
  int64_t least() const;
};
PositionLimits position_limits(const EncoderDecoder& model);

/// A side of an example that does not fit.
struct TooLong {
  bool source = true;  ///< which side
  std::string text;    ///< `70 tokens with the end mark, but the encoder's learned positions end at
                       ///< 64 (model.encoder.max_positions)`
};
/// The first side that is too long, the source before the target; nothing where both fit.
std::optional<TooLong> too_long(const Example& example, const PositionLimits& limits);

}  // namespace lookback
