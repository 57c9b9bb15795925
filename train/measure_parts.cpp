#include "train/measure_parts.h"

#include <algorithm>
#include <chrono>

#include "core/error.h"
#include "train/positions.h"

namespace lookback {

double now_ms() {
  return std::chrono::duration<double, std::milli>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

double median_of(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  size_t half = values.size() / 2;
  return values.size() % 2 ? values[half] : (values[half - 1] + values[half]) / 2;
}

std::vector<Id> random_words(Random& random, int64_t count, int64_t vocabulary) {
  std::vector<Id> out;
  for (int64_t i = 0; i < count; ++i)
    out.push_back(static_cast<Id>(kMarks + random.below(vocabulary - kMarks)));
  return out;
}

UntrainedModel untrained_model(const Recipe& recipe, int64_t source_length, int64_t target_length) {
  std::unique_ptr<Dataset> data = make_dataset(recipe.data, recipe.seed, recipe.train.batch);
  UntrainedModel out{.model = nullptr,
                     .source_words = data->source_vocabulary().size(),
                     .target_words = data->target_vocabulary().size()};
  if (out.source_words <= kMarks || out.target_words <= kMarks)
    fail("[bench] a vocabulary has no word");
  out.model = recipe.model(out.source_words, out.target_words);
  out.model->initialize(recipe.seed);
  Example longest{std::vector<Id>(static_cast<size_t>(source_length - 1), kUnknown),
                  std::vector<Id>(static_cast<size_t>(target_length - 1), kUnknown)};
  if (std::optional<TooLong> side = too_long(longest, position_limits(*out.model)))
    fail_user("bench: {}", side->text);
  return out;
}

}  // namespace lookback
