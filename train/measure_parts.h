#pragma once

#include <memory>
#include <vector>

#include "core/random.h"
#include "train/recipe.h"

namespace lookback {

// What the measurements of training steps and of translating share.

double now_ms();
double median_of(std::vector<double> values);

/// Words of a vocabulary, marks left out, each as likely.
std::vector<Id> random_words(Random& random, int64_t count, int64_t vocabulary);

struct UntrainedModel {
  std::unique_ptr<EncoderDecoder> model;
  int64_t source_words, target_words;
};
/// A recipe's model with start weights. UserError where its positions do not reach sentences of so
/// many tokens, end marks included.
UntrainedModel untrained_model(const Recipe& recipe, int64_t source_length, int64_t target_length);

}  // namespace lookback
