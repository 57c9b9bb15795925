#include "train/tasks/copy_token.h"

#include "train/tasks/symbols.h"

namespace lookback {
namespace {

/// `d f a c 2` -> `f`. Source ids: the symbols, then the numbers from 1.
class CopyTokenTask final : public Task {
 public:
  explicit CopyTokenTask(const SymbolOptions& options)
      : options_(options), source_(source_words(options)), target_(symbols(options)) {}

  const Vocabulary& source_vocabulary() const override { return source_; }
  const Vocabulary& target_vocabulary() const override { return target_; }
  int64_t min_length() const override { return options_.min_length; }
  int64_t max_length() const override { return options_.max_length; }

  Example sample(int64_t length, Random& random) const override {
    Example example;
    for (int64_t i = 0; i + 1 < length; ++i)
      example.source.push_back(kMarks + static_cast<Id>(random.below(options_.symbols)));
    int64_t place = random.below(length - 1);
    example.source.push_back(kMarks + static_cast<Id>(options_.symbols + place));
    example.target = {example.source[static_cast<size_t>(place)]};
    return example;
  }

  std::optional<std::vector<int64_t>> causes(const Example& example) const override {
    return std::vector<int64_t>{example.source.back() - kMarks - options_.symbols};
  }

  std::string description() const override {
    return format("copy_token, {} symbols, lengths {} to {}", options_.symbols, options_.min_length,
                  options_.max_length);
  }

 private:
  // A prefix keeps many symbols apart from the numbers.
  static std::vector<std::string> symbols(const SymbolOptions& options) {
    return symbol_names(options.symbols, "s");
  }
  static std::vector<std::string> source_words(const SymbolOptions& options) {
    std::vector<std::string> words = symbols(options);
    for (int64_t place = 1; place < options.max_length; ++place)
      words.push_back(std::to_string(place));
    return words;
  }

  SymbolOptions options_;
  Vocabulary source_, target_;
};

}  // namespace

std::unique_ptr<Task> make_copy_token(Section& section) {
  SymbolOptions options{.min_length = 2, .max_length = 10};
  section.read("symbols", options.symbols, between(2, 1e6));
  read_lengths(section, options.min_length, options.max_length, 2);
  return std::make_unique<CopyTokenTask>(options);
}

}  // namespace lookback
