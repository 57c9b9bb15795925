#pragma once

#include <cstdint>
#include <vector>

#include "models/encoder_decoder.h"

namespace lookback {

/// How much each output token's probability hangs on each source position: through the word vectors
/// x_j (B = 1), with nll_t = -log p(y_t | y_<t, x). Rows are target tokens, the end mark last;
/// columns source tokens, the end mark last.
struct SourceGradients {
  std::vector<std::vector<double>> norm;     ///< |d nll_t / d x_j|, Euclidean
  std::vector<std::vector<double>> product;  ///< x_j . (d nll_t / d x_j): input x gradient
};

/// Of these target tokens (0, 1, ...; the end mark is the last), one backward pass each; empty:
/// all. Without dropout.
SourceGradients source_gradients(const EncoderDecoder& model, const Example& example,
                                 const std::vector<int64_t>& targets = {});

/// |d nll_T / d x_j| of the last output, the end mark excluded, meaned over examples whose sources
/// are equally long; the source's end mark is left out too. The tutorial's path (2.4.1): position j
/// of n has to come n - j states far to the end of a recurrent encoder.
std::vector<double> last_output_gradients(const EncoderDecoder& model,
                                          const std::vector<Example>& examples);

}  // namespace lookback
