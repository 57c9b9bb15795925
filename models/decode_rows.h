#pragma once

#include <span>
#include <vector>

#include "models/decode.h"

namespace lookback {

// What beam search and sampling share.

/// A beginning of a translation.
struct Hypothesis {
  std::vector<Id> tokens;
  double log_probability = 0;
  std::vector<std::vector<Real>> weights;
};

/// The hypotheses that are still open, of all sentences, as rows of one batch of the decoder.
class DecodeRows {
 public:
  /// Encodes the sources. At first each sentence has `copies` rows, one after the other.
  DecodeRows(const EncoderDecoder& model, std::span<const std::vector<Id>> sources, int64_t copies);

  int64_t count() const { return static_cast<int64_t>(sentence_.size()); }
  /// One step of all rows; previous has the last word of each.
  Step step(std::span<const Id> previous);
  /// Row i is now what follows old row parents[i], of sentence sentences[i].
  void keep(const std::vector<int64_t>& parents, std::vector<int64_t> sentences);
  /// Tokens that a sentence may get at most.
  int64_t limit(int64_t sentence, const DecodeOptions& options) const;
  /// Source positions of a sentence, end mark included.
  int64_t positions(int64_t sentence) const { return lengths_[static_cast<size_t>(sentence)]; }

 private:
  const EncoderDecoder& model_;
  Lengths lengths_;
  Memory all_, memory_;  // of the sentences; of the rows
  DecoderState state_;
  std::vector<int64_t> sentence_;  // of each row
};

/// The words that may come next: all but <pad> and <bos>; before min_length not the end mark, at the
/// limit nothing else.
class AllowedWords {
 public:
  AllowedWords(int64_t tokens, int64_t limit, int64_t min_length)
      : only_end_(tokens >= limit), no_end_(tokens < min_length && !only_end_) {}
  bool only_end() const { return only_end_; }
  bool operator()(Id id) const {
    if (id == kEnd) return !no_end_;
    return !only_end_ && id != kPad && id != kBegin;
  }

 private:
  bool only_end_, no_end_;
};

/// The hypothesis followed by the end mark; `logits` are the row's that ended it.
Decoded finish(Hypothesis&& hypothesis, double log_probability, const Real* logits, int64_t words,
               const AllowedWords& allowed, const DecodeOptions& options, const Step& step);
/// Adds a row's attention weights, where they are asked for and there are any.
void add_weights(const Step& step, int64_t row, int64_t positions, const DecodeOptions& options,
                 Hypothesis& hypothesis);

std::vector<std::vector<Decoded>> beam_search(const EncoderDecoder& model,
                                              std::span<const std::vector<Id>> sources,
                                              const DecodeOptions& options);
std::vector<std::vector<Decoded>> sample(const EncoderDecoder& model,
                                         std::span<const std::vector<Id>> sources,
                                         const DecodeOptions& options,
                                         std::span<const uint64_t> numbers);

/// Best first, equals as they came; at most n_best.
void rank(std::vector<Decoded>& found, int64_t n_best);

}  // namespace lookback
