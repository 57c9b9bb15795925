#include "train/tasks/agreement.h"

#include <utility>

#include "train/tasks/symbols.h"

namespace lookback {
namespace {

struct AgreementOptions {
  int64_t classes = 10;
  int64_t distractors = 20;
  int64_t min_length = 38;
  int64_t max_length = 40;
};

constexpr int64_t kSubject = 2;  // where it stands

const std::vector<std::pair<std::string, std::string>> kSubjects = {
    {"dog", "barks"},     {"cat", "purrs"},   {"bird", "sings"},  {"horse", "neighs"},
    {"cow", "moos"},      {"duck", "quacks"}, {"frog", "croaks"}, {"bee", "buzzes"},
    {"lion", "roars"},    {"wolf", "howls"},  {"pig", "grunts"},  {"sheep", "bleats"},
    {"mouse", "squeaks"}, {"owl", "hoots"},   {"hen", "clucks"},  {"snake", "hisses"}};

const std::vector<std::string> kDistractors = {
    "the",  "old",  "near",  "river", "of",   "small", "house", "in",   "green", "field",
    "with", "that", "under", "grey",  "roof", "and",   "by",    "long", "road",  "all"};

/// The list's words, and PREFIX21, PREFIX22, ... where it ends.
std::string word(const std::vector<std::string>& list, int64_t i, const char* prefix) {
  if (i < static_cast<int64_t>(list.size())) return list[static_cast<size_t>(i)];
  return format("{}{}", prefix, i + 1);
}

/// Source ids: the subjects, then the distractors. Verb i goes with subject i.
class AgreementTask final : public Task {
 public:
  explicit AgreementTask(const AgreementOptions& options)
      : options_(options), source_(source_words(options)), target_(verbs(options)) {}

  const Vocabulary& source_vocabulary() const override { return source_; }
  const Vocabulary& target_vocabulary() const override { return target_; }
  int64_t min_length() const override { return options_.min_length; }
  int64_t max_length() const override { return options_.max_length; }

  Example sample(int64_t length, Random& random) const override {
    Example example;
    for (int64_t i = 0; i < length; ++i) {
      int64_t id = i == kSubject ? random.below(options_.classes)
                                 : options_.classes + random.below(options_.distractors);
      example.source.push_back(kMarks + static_cast<Id>(id));
    }
    example.target = {example.source[kSubject]};
    return example;
  }

  std::optional<std::vector<int64_t>> causes(const Example&) const override {
    return std::vector<int64_t>{kSubject};
  }

  std::string description() const override {
    return format("agreement, {} classes, {} distractors, lengths {} to {}", options_.classes,
                  options_.distractors, options_.min_length, options_.max_length);
  }

 private:
  static std::vector<std::string> source_words(const AgreementOptions& options) {
    std::vector<std::string> nouns, words;
    for (const auto& [noun, verb] : kSubjects) nouns.push_back(noun);
    for (int64_t i = 0; i < options.classes; ++i) words.push_back(word(nouns, i, "noun"));
    for (int64_t i = 0; i < options.distractors; ++i)
      words.push_back(word(kDistractors, i, "word"));
    return words;
  }
  static std::vector<std::string> verbs(const AgreementOptions& options) {
    std::vector<std::string> verbs, words;
    for (const auto& [noun, verb] : kSubjects) verbs.push_back(verb);
    for (int64_t i = 0; i < options.classes; ++i) words.push_back(word(verbs, i, "verb"));
    return words;
  }

  AgreementOptions options_;
  Vocabulary source_, target_;
};

}  // namespace

std::unique_ptr<Task> make_agreement(Section& section) {
  AgreementOptions options;
  section.read("classes", options.classes, between(2, 1e4));
  section.read("distractors", options.distractors, between(1, 1e4));
  read_lengths(section, options.min_length, options.max_length, kSubject + 1);
  return std::make_unique<AgreementTask>(options);
}

}  // namespace lookback
