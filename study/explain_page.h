#pragma once

#include <string>
#include <vector>

#include "study/explain.h"
#include "study/page.h"
#include "train/vocabulary.h"

namespace lookback {

/// What the tokens of an explanation are called.
struct TokenNames {
  const Vocabulary& source;
  const Vocabulary& target;
};

/// The attention weights as maps: the mean over layers and heads first, then each. Empty without
/// attention.
std::vector<Heatmap> weight_maps(const Explanation& explanation, const TokenNames& names);

/// `lookback explain`: weights beside effects, the checks, and the sentence.
Page explanation_page(const std::vector<Explanation>& seeds, const WeightVerdict& verdict,
                      const TokenNames& names, const std::string& command);

}  // namespace lookback
