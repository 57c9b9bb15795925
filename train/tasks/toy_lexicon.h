#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace lookback {

/// The words of task `toy_translation`, on both sides. `words` are those of the English side: 4
/// determiners, 4 conjunctions, and nouns, adjectives and verbs as 25 : 15 : 12 (60 words have just
/// these). English words come from a list, and from syllables where it ends; words of the invented
/// language are a stem of its own for each and an ending for what they agree with.
struct ToyLexicon {
  explicit ToyLexicon(int64_t words);

  int64_t nouns, adjectives, verbs;
  /// English: determiners (this, that, these, those), conjunctions, nouns, adjectives, verbs.
  std::vector<std::string> english;
  /// Invented: determiners (near, then far), conjunctions, nouns, adjectives, verbs; four forms
  /// of a determiner or an adjective side by side (masculine, feminine, their plurals), two of a verb
  /// (singular, plural). Even nouns are masculine, odd ones feminine.
  std::vector<std::string> invented;
};

constexpr int64_t kToyDeterminers = 4, kToyConjunctions = 4;

}  // namespace lookback
