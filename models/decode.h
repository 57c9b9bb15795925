#pragma once

#include <span>
#include <vector>

#include "models/decode_options.h"
#include "models/encoder_decoder.h"

namespace lookback {

/// One decoded sentence. A sentence ends with the end mark, whose probability counts: at the limit
/// of its length the end mark is the only word left. So the log-probability is what score() gives.
struct Decoded {
  std::vector<Id> tokens;      ///< without marks
  double log_probability = 0;  ///< the model's own, of the tokens and the end mark
  double score = 0;            ///< log_probability under the length penalty
  bool ended = false;  ///< the model chose the end mark itself, and was not cut at the limit
  /// For each token and the end mark, the attention weights of all layers and heads over the source
  /// positions, end mark included: layers x heads x positions; empty unless asked for.
  std::vector<std::vector<Real>> weights;
  int64_t layers = 0, heads = 0;  ///< of `weights`
};

/// The word that greedy decoding says: of the largest of V logits, never <pad> or <bos>; ties go to the
/// smaller id. evaluate() counts by it too.
Id most_probable(const Real* logits, int64_t words);

/// log p of one word. Rounding must not make a probability larger than 1, for a score may only fall;
/// NaN stays.
inline double log_share(Real logit, double log_sum) {
  double log_p = double{logit} - log_sum;
  return log_p > 0 ? 0 : log_p;
}

/// Decodes sentences side by side: by beam search (beam.cpp), of which a beam of 1 is greedy, or by
/// sampling (sample.cpp). At most n_best for each, best first. The marks <pad> and <bos> are never
/// chosen, and each sentence has a limit of its own, never its batch's. `numbers` are the sentences'
/// numbers in the whole input, which the draws depend on; empty: 0, 1, ...
std::vector<std::vector<Decoded>> decode(const EncoderDecoder& model,
                                         std::span<const std::vector<Id>> sources,
                                         const DecodeOptions& options = {},
                                         std::span<const uint64_t> numbers = {});

}  // namespace lookback
