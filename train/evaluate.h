#pragma once

#include <functional>
#include <string>
#include <vector>

#include "core/json.h"
#include "models/decode.h"
#include "models/encoder_decoder.h"

namespace lookback {

/// What was measured over some sentences. Token accuracy is under teacher forcing. A sentence
/// counts as right when every token, end mark included, is the most probable one under teacher
/// forcing; greedy decoding then says exactly the reference, and no other sentence counts
/// (models/decode.h).
struct Measures {
  int64_t examples = 0;
  int64_t tokens = 0;  ///< target tokens, end marks included
  double nll = 0;      ///< -log p per target token
  double token_accuracy = 0;
  double sequence_accuracy = 0;
  double perplexity() const;
};

struct Evaluation {
  Measures all;
  struct Length {
    int64_t from, to;  ///< source tokens, end mark not counted; both included
    Measures measures;
  };
  std::vector<Length> by_length;

  /// A metric by the name that `validate.metric` gives it.
  double metric(const std::string& name) const;
  Json json() const;
};

/// Names of metrics, and whether more of one is better.
std::vector<std::string> metric_names();
bool more_is_better(const std::string& metric);

struct EvaluateOptions {
  int64_t batch = 64;  ///< sentences a batch
  int64_t bucket =
      -1;  ///< source lengths a row of by_length covers; -1 (`auto`): so that there are at most 20
};

/// Measures a model on examples, in batches of like length that run side by side.
Evaluation evaluate(const EncoderDecoder& model, const std::vector<Example>& examples,
                    const EvaluateOptions& options = {});

/// log p of each target token (end mark last) given its source, sentence by sentence, in the order
/// given.
std::vector<std::vector<double>> score(const EncoderDecoder& model,
                                       const std::vector<Example>& examples, int64_t batch = 64);

/// decode() in batches of like length, at most `batch` sentences each, that run side by side; results in
/// the order given, the n best of each. The text does not depend on the batch, but for ties
/// that rounding decides. `numbers` are the sentences' numbers in the whole
/// input, on which draws depend; empty: 0, 1, ...
std::vector<std::vector<Decoded>> translate(const EncoderDecoder& model,
                                            const std::vector<std::vector<Id>>& sources,
                                            const DecodeOptions& options, int64_t batch = 64,
                                            const std::vector<uint64_t>& numbers = {});

/// Corpus BLEU-4 of tokenised sentences, 0 to 100 (Papineni et al., 2002): the geometric mean of
/// clipped n-gram precisions times the brevity penalty, one reference each, no smoothing.
double bleu(const std::vector<std::vector<Id>>& hypotheses,
            const std::vector<std::vector<Id>>& references);

/// Of the best translations by `options`, against the examples' targets.
double bleu(const EncoderDecoder& model, const std::vector<Example>& examples,
            const DecodeOptions& options, int64_t batch = 64);

}  // namespace lookback
