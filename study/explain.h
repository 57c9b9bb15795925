#pragma once

#include <string>
#include <vector>

#include "models/encoder_decoder.h"

namespace lookback {

/// Numbers by target token (rows, the end mark last) and source token (columns, end mark last).
using Grid = std::vector<std::vector<double>>;

/// What a model's weights say about one sentence, beside what really moves its outputs (the
/// tutorial's 2.4.7: a weight is not a contribution). p_t = p(y_t | y_<t, x).
struct Explanation {
  std::vector<Id> source, target;          ///< with end marks
  double log_probability = 0;              ///< of the target
  std::vector<std::vector<Grid>> weights;  ///< [layer][head]; empty without attention
  Grid mean_weights;                       ///< over layers and heads; empty without attention
  /// How much log p_t falls when the keys and values of source position j are hidden from attention
  /// at every step. Empty without attention.
  Grid ablation;
  Grid erasure;   ///< how much log p_t falls when the word vector x_j is set to zero
  Grid gradient;  ///< |d log p_t / d x_j|
  Grid
      product;  ///< -x_j . d(-log p_t)/d x_j: input x gradient, what x_j adds to log p_t to first order
};

/// Of the target given, or of what the model itself says greedily where `target` is null. Without
/// dropout.
Explanation explain(const EncoderDecoder& model, const std::vector<Id>& source,
                    const std::vector<Id>* target = nullptr);

/// How two grids agree: the mean over target tokens of the rank correlation (Spearman) over source
/// positions, and the share of target tokens whose largest entries stand at one position. Rows where
/// either side is constant have no ranks and are left out; NaN where none is left.
struct Agreement {
  double rank = 0;
  double top = 0;
};
Agreement agreement(const Grid& a, const Grid& b);

/// |x| of every entry. Input x gradient may pull either way; what counts is how much.
Grid magnitudes(Grid grid);
/// The position of a row's largest entry.
size_t largest(const std::vector<double>& row);

/// The same over the end mark's row left out: what it looks at is a matter of its own.
Grid without_end(const Grid& grid);

/// The checks that the tutorial asks for before a weight may be read as an explanation, with what
/// they say of these explanations: the same sentence by one model, or by several trained from other
/// seeds (the first is the one explained).
struct WeightCheck {
  std::string name;  ///< `ablation`, `input x gradient`, `other seeds`, ...
  std::string what;  ///< in words
  Agreement agreement;
  bool passes = false;
};
struct WeightVerdict {
  std::vector<WeightCheck> checks;
  bool readable = false;  ///< every check passes and there were other seeds
  std::string sentence;   ///< whether the weights may be read as an explanation here, and why
};
/// `causes`: for each target token the source position that causes it, where that is known (-1: not
/// for this one); empty: not known.
WeightVerdict judge_weights(const std::vector<Explanation>& seeds,
                            const std::vector<int64_t>& causes = {});

}  // namespace lookback
