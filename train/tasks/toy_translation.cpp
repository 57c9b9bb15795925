#include "train/tasks/toy_translation.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "train/tasks/symbols.h"
#include "train/tasks/toy_lexicon.h"

namespace lookback {
namespace {

struct ToyOptions {
  int64_t words = 60;
  int64_t min_length = 5;
  int64_t max_length = 40;
};

constexpr int64_t kMostAdjectives = 3;  // of a noun; two would leave no sentence of 10 words

/// The ids of both sides, in the lexicon's order.
struct ToyIds {
  explicit ToyIds(const ToyLexicon& l) : adjectives(l.adjectives), nouns(l.nouns), verbs(l.verbs) {}
  int64_t adjectives, nouns, verbs;

  Id conjunction = kMarks + kToyDeterminers;
  Id noun = conjunction + kToyConjunctions;
  Id adjective = noun + static_cast<Id>(nouns);
  Id verb = adjective + static_cast<Id>(adjectives);

  Id to_conjunction = kMarks + 2 * 4;
  Id to_noun = to_conjunction + kToyConjunctions;
  Id to_adjective = to_noun + static_cast<Id>(nouns);
  Id to_verb = to_adjective + static_cast<Id>(4 * adjectives);
};

/// Reads a sentence from left to right and says its translation.
class Translator {
 public:
  Translator(const ToyIds& ids, const std::vector<Id>& source) : ids_(ids), source_(source) {}

  std::vector<Id> translate() {
    clause();
    while (at_ < source_.size()) {
      target_.push_back(ids_.to_conjunction + next() - ids_.conjunction);
      clause();
    }
    return std::move(target_);
  }

 private:
  Id next() { return source_[at_++]; }

  void clause() {
    bool plural = noun_phrase();
    Id verb = next() - ids_.verb;
    noun_phrase();
    target_.push_back(ids_.to_verb + 2 * verb + plural);
  }

  /// Whether it is plural.
  bool noun_phrase() {
    Id determiner = next() - kMarks;  // this, that, these, those
    size_t first = at_;
    while (source_[at_] >= ids_.adjective) ++at_;
    size_t end = at_;
    Id noun = next() - ids_.noun;
    bool plural = determiner >= 2;
    Id form = noun % 2 + 2 * plural;
    target_.push_back(kMarks + 4 * (determiner % 2) + form);
    target_.push_back(ids_.to_noun + noun);
    for (size_t i = first; i < end; ++i)
      target_.push_back(ids_.to_adjective + 4 * (source_[i] - ids_.adjective) + form);
    return plural;
  }

  const ToyIds& ids_;
  const std::vector<Id>& source_;
  size_t at_ = 0;
  std::vector<Id> target_;
};

class ToyTranslationTask final : public Task {
 public:
  ToyTranslationTask(const ToyOptions& options, const ToyLexicon& lexicon)
      : options_(options), ids_(lexicon), source_(lexicon.english), target_(lexicon.invented) {}

  const Vocabulary& source_vocabulary() const override { return source_; }
  const Vocabulary& target_vocabulary() const override { return target_; }
  int64_t min_length() const override { return options_.min_length; }
  int64_t max_length() const override { return options_.max_length; }

  /// Each number of clauses that fits is drawn equally often. c clauses without adjectives and c - 1
  /// conjunctions have 6c - 1 words; their 2c nouns have room for 6c adjectives.
  Example sample(int64_t length, Random& random) const override {
    int64_t fewest = (length + 12) / 12, most = (length + 1) / 6;
    int64_t clauses = fewest + random.below(most - fewest + 1);
    std::vector<int64_t> adjectives = spread(length - (6 * clauses - 1), 2 * clauses, random);
    Example example;
    for (int64_t c = 0; c < clauses; ++c) {
      if (c > 0) example.source.push_back(any(ids_.conjunction, kToyConjunctions, random));
      noun_phrase(adjectives[static_cast<size_t>(2 * c)], random, example.source);
      example.source.push_back(any(ids_.verb, ids_.verbs, random));
      noun_phrase(adjectives[static_cast<size_t>(2 * c + 1)], random, example.source);
    }
    example.target = Translator(ids_, example.source).translate();
    return example;
  }

  std::string description() const override {
    return format("toy_translation, {} words, lengths {} to {}", options_.words,
                  options_.min_length, options_.max_length);
  }

 private:
  static Id any(Id first, int64_t count, Random& random) {
    return first + static_cast<Id>(random.below(count));
  }

  /// How many adjectives each noun gets: a choice of `count` of all the places there are.
  static std::vector<int64_t> spread(int64_t count, int64_t nouns, Random& random) {
    std::vector<int64_t> places(static_cast<size_t>(kMostAdjectives * nouns));
    std::iota(places.begin(), places.end(), 0);
    std::vector<int64_t> adjectives(static_cast<size_t>(nouns), 0);
    for (int64_t i = 0; i < count; ++i) {  // as far as needed of a shuffle
      int64_t left = static_cast<int64_t>(places.size()) - i;
      std::swap(places[static_cast<size_t>(i)],
                places[static_cast<size_t>(i + random.below(left))]);
      ++adjectives[static_cast<size_t>(places[static_cast<size_t>(i)] / kMostAdjectives)];
    }
    return adjectives;
  }

  void noun_phrase(int64_t adjectives, Random& random, std::vector<Id>& source) const {
    source.push_back(any(kMarks, kToyDeterminers, random));
    size_t first = source.size();
    while (source.size() < first + static_cast<size_t>(adjectives)) {
      Id adjective = any(ids_.adjective, ids_.adjectives, random);
      auto begin = source.begin() + static_cast<int64_t>(first);
      if (std::find(begin, source.end(), adjective) == source.end()) source.push_back(adjective);
    }
    source.push_back(any(ids_.noun, ids_.nouns, random));
  }

  ToyOptions options_;
  ToyIds ids_;
  Vocabulary source_, target_;
};

}  // namespace

std::unique_ptr<Task> make_toy_translation(Section& section) {
  ToyOptions options;
  // 20 words have three adjectives, as many as a noun may have.
  section.read("words", options.words, between(20, 1e4));
  read_lengths(section, options.min_length, options.max_length, 5);
  return std::make_unique<ToyTranslationTask>(options, ToyLexicon(options.words));
}

}  // namespace lookback
