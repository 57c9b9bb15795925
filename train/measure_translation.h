#pragma once

#include <vector>

#include "core/json.h"
#include "train/recipe.h"

namespace lookback {

struct TranslationOptions {
  int64_t sentences = 256;
  int64_t batch = 32;
  int64_t source_length = 64;  ///< end mark included
  int64_t target_length = 64;  ///< end mark included; it may not come sooner
  int64_t beam = 6;            ///< of the search that is measured beside greedy decoding
  int64_t rounds = 5;          ///< timed, after one that is not
  std::vector<int> threads;    ///< each is measured
};

/// How fast an untrained model translates random sentences to an exact length.
struct TranslationResult {
  struct Row {
    int64_t beam = 1;  ///< 1 is greedy
    int threads = 1;
    double ms = 0, least_ms = 0;   ///< of all sentences: median of the rounds, and the least
    double tokens_per_second = 0;  ///< of the best translations, end marks included, at the median
  };
  std::vector<Row> rows;
  int64_t tokens = 0;  ///< of the best translations of a round, counted
  int64_t parameters = 0;
  Json json(const TranslationOptions& options) const;
};

/// By translate(), as the verb does it. The rounds of all rows alternate.
TranslationResult measure_translation(const Recipe& recipe, const TranslationOptions& options);

}  // namespace lookback
