#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace lookback {

/// What a hypothesis y with log-probability log p is ranked by, log p / divisor(|y|), |y| counting
/// the end mark: without it the shortest wins.
/// - none: 1
/// - length: |y|^alpha
/// - gnmt: ((5 + |y|) / 6)^alpha (Wu et al., 2016, section 7)
struct LengthPenalty {
  std::string type = "none";
  double alpha = 0;  ///< at least 0

  double divisor(int64_t length) const;
  double score(double log_probability, int64_t length) const {
    return log_probability / divisor(length);
  }
};

std::vector<std::string> length_penalty_types();
/// The alpha that a type has unless another is given.
double default_alpha(const std::string& type);

}  // namespace lookback
