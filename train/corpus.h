#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/config.h"
#include "train/vocabulary.h"

namespace lookback {

/// Two text files whose lines with one number are translations of each other.
struct TextPair {
  std::string source;
  std::string target;
  bool given() const { return !source.empty(); }
};

struct CorpusOptions {
  TextPair train;
  TextPair valid;
  TextPair test;               ///< may be left out
  std::string level = "word";  ///< words are what blanks separate; the text comes tokenised
  int64_t min_frequency = 2;   ///< rarer words of the training text are unknown
  int64_t max_vocabulary = 0;  ///< words of a side, the most frequent; 0 is no limit
  int64_t max_length = 100;    ///< words of a side; longer training sentences are dropped
};
void read(Section& section, CorpusOptions& options);

/// Parallel lines as they stand in the files.
struct ParallelText {
  std::vector<std::string> source;
  std::vector<std::string> target;
  int64_t dropped_long = 0;   ///< pairs left out because a side was over max_length
  int64_t dropped_empty = 0;  ///< pairs left out because a side held no word
  int64_t size() const { return static_cast<int64_t>(source.size()); }
};

/// Every line of a pair of files. UserError for a file that is missing, empty, or no UTF-8, and for
/// unequal numbers of lines.
ParallelText read_text(const TextPair& files);

/// The lines to learn from: pairs with an empty side or a side over max_length are left out and
/// counted. UserError when none is left.
ParallelText read_training_text(const TextPair& files, int64_t max_length);

/// The vocabulary of one side of a training text; `path` names it in errors.
Vocabulary build_vocabulary(const std::vector<std::string>& lines, const CorpusOptions& options,
                            const std::string& path);

std::vector<Example> encode(const ParallelText& text, const Vocabulary& source,
                            const Vocabulary& target);

}  // namespace lookback
