#include "train/tasks/recall.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "train/tasks/symbols.h"

namespace lookback {
namespace {

struct RecallOptions {
  int64_t keys = 26;
  int64_t values = 26;
  int64_t min_pairs = 1;
  int64_t max_pairs = 10;
};

/// `c 7 a 3 f 7 ? a` -> `3`. Source ids: the keys, the values, the mark.
class RecallTask final : public Task {
 public:
  explicit RecallTask(const RecallOptions& options)
      : options_(options), source_(source_words(options)), target_(numbers(options.values)) {}

  const Vocabulary& source_vocabulary() const override { return source_; }
  const Vocabulary& target_vocabulary() const override { return target_; }
  int64_t min_length() const override { return length_of(options_.min_pairs); }
  int64_t max_length() const override { return length_of(options_.max_pairs); }
  bool has_length(int64_t length) const override { return length % 2 == 0; }

  Example sample(int64_t length, Random& random) const override {
    int64_t pairs = (length - 2) / 2;
    Example example;
    std::vector<Id> keys(static_cast<size_t>(options_.keys));
    std::iota(keys.begin(), keys.end(), kMarks);
    for (int64_t i = 0; i < pairs; ++i) {  // as far as needed of a shuffle
      size_t at = static_cast<size_t>(i);
      std::swap(keys[at], keys[at + static_cast<size_t>(random.below(options_.keys - i))]);
      example.source.push_back(keys[at]);
      example.source.push_back(first_value() + static_cast<Id>(random.below(options_.values)));
    }
    size_t asked = static_cast<size_t>(random.below(pairs));
    example.source.push_back(first_value() + static_cast<Id>(options_.values));
    example.source.push_back(keys[asked]);
    example.target = {example.source[2 * asked + 1] - first_value() + kMarks};
    return example;
  }

  std::optional<std::vector<int64_t>> causes(const Example& example) const override {
    auto key = std::find(example.source.begin(), example.source.end(), example.source.back());
    return std::vector<int64_t>{key - example.source.begin() + 1};
  }

  std::string description() const override {
    return format("recall, {} keys, {} values, {} to {} pairs", options_.keys, options_.values,
                  options_.min_pairs, options_.max_pairs);
  }

 private:
  static int64_t length_of(int64_t pairs) { return 2 * pairs + 2; }
  Id first_value() const { return kMarks + static_cast<Id>(options_.keys); }
  static std::vector<std::string> numbers(int64_t count) {
    std::vector<std::string> words;
    for (int64_t i = 0; i < count; ++i) words.push_back(std::to_string(i));
    return words;
  }
  static std::vector<std::string> source_words(const RecallOptions& options) {
    std::vector<std::string> words = symbol_names(options.keys, "k");
    for (std::string& number : numbers(options.values)) words.push_back(std::move(number));
    words.push_back("?");
    return words;
  }

  RecallOptions options_;
  Vocabulary source_, target_;
};

}  // namespace

std::unique_ptr<Task> make_recall(Section& section) {
  RecallOptions options;
  section.read("keys", options.keys, between(2, 1e4));
  section.read("values", options.values, between(2, 1e6));
  section.read("min_pairs", options.min_pairs, at_least(1));
  section.read("max_pairs", options.max_pairs, at_least(1));
  if (options.max_pairs < options.min_pairs)
    section.refuse("max_pairs", format("{} is below min_pairs, which is {}", options.max_pairs,
                                       options.min_pairs));
  if (options.max_pairs > options.keys)
    section.refuse("max_pairs", format("{} pairs need as many different keys, and keys is {}",
                                       options.max_pairs, options.keys));
  return std::make_unique<RecallTask>(options);
}

}  // namespace lookback
