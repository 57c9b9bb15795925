#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "models/batch.h"

namespace lookback {

/// How often each word occurs in a text.
using WordCounts = std::map<std::string, int64_t, std::less<>>;

/// The words of a line, cut at ASCII spaces and tabs.
std::vector<std::string_view> split_words(std::string_view line);

struct VocabularyLimits {
  int64_t min_frequency = 1;
  int64_t max_size = 0;  ///< words beside the marks; 0 is no limit
};

/// Words as numbers. The marks `<pad> <unk> <bos> <eos>` come first, as models/batch.h numbers
/// them. A word of a text that is spelled like a mark is unknown, never the mark.
class Vocabulary {
 public:
  /// The words in the order given; each once, without blanks or line ends, none spelled like a
  /// mark.
  explicit Vocabulary(const std::vector<std::string>& words);

  /// The words that occur at least `min_frequency` times, the most frequent first and equally
  /// frequent ones by their bytes, cut to `max_size`. `text` names the text in the UserError that
  /// no word is left.
  static Vocabulary from_counts(const WordCounts& counts, const VocabularyLimits& limits,
                                const std::string& text);

  /// With the marks.
  int64_t size() const { return static_cast<int64_t>(tokens_.size()); }
  Id id(std::string_view word) const;     ///< kUnknown when absent
  const std::string& token(Id id) const;  ///< Error when there is no such id
  std::vector<Id> encode(std::string_view line) const;
  /// The words joined by one space each; pad, begin and end marks are left out, unknown words are
  /// `<unk>`.
  std::string decode(const std::vector<Id>& ids) const;

  /// All tokens, marks included, as a JSON list.
  std::string to_json() const;
  /// `where` names the origin in the UserError for a text that is no vocabulary.
  static Vocabulary from_json(const std::string& text, const std::string& where);
  /// One token a line, marks included, so that line n holds the token n - 1.
  void save(const std::string& path) const;

  bool operator==(const Vocabulary& other) const { return tokens_ == other.tokens_; }

 private:
  struct Hash {
    using is_transparent = void;
    size_t operator()(std::string_view text) const { return std::hash<std::string_view>{}(text); }
  };
  std::vector<std::string> tokens_;
  std::unordered_map<std::string, Id, Hash, std::equal_to<>> ids_;  // of the words only
};

}  // namespace lookback
