#include "models/length_penalty.h"

#include <cmath>

#include "core/error.h"

namespace lookback {

double LengthPenalty::divisor(int64_t length) const {
  double n = static_cast<double>(length);
  if (type == "none") return 1;
  if (type == "length") return std::pow(n, alpha);
  if (type == "gnmt") return std::pow((5 + n) / 6, alpha);
  fail("[length_penalty] there is no type \"{}\"", type);
}

std::vector<std::string> length_penalty_types() {
  return {"none", "length", "gnmt"};
}

double default_alpha(const std::string& type) {
  return type == "length" ? 1 : type == "gnmt" ? 0.6 : 0;
}

}  // namespace lookback
