#pragma once

#include <span>
#include <vector>

#include "models/encoder_decoder.h"

namespace lookback {

/// One decoded sentence.
struct Decoded {
  std::vector<Id> tokens;      ///< without marks
  double log_probability = 0;  ///< of the tokens and, if reached, the end mark
  bool finished = false;       ///< the end mark came before the limit
  std::vector<std::vector<Real>>
      weights;  ///< a row for each step (end mark included), a weight for each
                ///< source position (end mark included); empty without attention
};

struct DecodeOptions {
  int64_t max_length = -1;  ///< tokens a sentence at most; -1 (`auto`): 2 * its source length + 10
  bool weights = false;     ///< keep the attention weights
};

/// The word that greedy decoding says: of the largest of V logits, never <pad> or <bos>; ties go to the
/// smaller id. evaluate() counts by it too.
Id most_probable(const Real* logits, int64_t words);

/// At every step the most probable token, for all sentences side by side; each has a limit of its
/// own, never its batch's. The marks <pad> and <bos> are never chosen. Ties go to the smaller id.
std::vector<Decoded> decode_greedy(const EncoderDecoder& model,
                                   std::span<const std::vector<Id>> sources,
                                   const DecodeOptions& options = {});

}  // namespace lookback
