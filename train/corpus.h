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
  /// One vocabulary, of the words of both sides; frequency and limit then count both together.
  bool joint_vocabulary = false;
};
void read(Section& section, CorpusOptions& options);

/// Parallel lines as they stand in the files.
struct ParallelText {
  std::vector<std::string> source;
  std::vector<std::string> target;
  int64_t dropped_long = 0;         ///< pairs left out because a side was over max_length
  int64_t dropped_empty = 0;        ///< pairs left out because a side held no word
  std::vector<int64_t> lines = {};  ///< of each pair in its file, from 1; empty: none was left out
  int64_t size() const { return static_cast<int64_t>(source.size()); }
};

/// Every line of a pair of files. UserError for a file that is missing, empty, or no UTF-8, and for
/// unequal numbers of lines.
ParallelText read_text(const TextPair& files);

/// The lines to learn from: pairs with an empty side or a side over max_length are left out and
/// counted. UserError when none is left.
ParallelText read_training_text(const TextPair& files, int64_t max_length);

struct Vocabularies {
  Vocabulary source, target;
};
/// The vocabularies of a training text, equal where they are joint; `files` names it in errors.
Vocabularies build_vocabularies(const ParallelText& text, const TextPair& files,
                                const CorpusOptions& options);

std::vector<Example> encode(const ParallelText& text, const Vocabulary& source,
                            const Vocabulary& target);

}  // namespace lookback
