#pragma once

#include "nn/additive.h"
#include "nn/dot_product.h"
#include "nn/linear.h"

namespace lookback {

/// The scores of Luong et al. (2015; the tutorial's definition 2.4.3) that are inner products:
///     dot:      e_j = s . h_j          no parameters; s and h_j need as many units
///     general:  e_j = s^T W_a h_j      `key.weight` W_a (D_s, D_h); W_a h_j is worked out once
/// a = softmax(e), c = sum_j a_j h_j, unscaled.
class LuongAttention final : public DotProductAttention {
 public:
  enum class Score { kDot, kGeneral };
  LuongAttention(Score score, const Sizes& sizes);

  Keys prepare(const Variable& values, const Mask& mask) const override;

 private:
  std::unique_ptr<Linear> key_;  // null for dot
};

/// Luong's third score, `concat`:
///     e_j = v . tanh(W_a [s; h_j])
/// It is the additive score (BahdanauAttention) with W_a = [W_s W_h], so W_h h_j is worked out once.
/// Parameters: `joint.weight` W_a (A, D_s + D_h), `v` (A).
class ConcatAttention final : public AdditiveAttention {
 public:
  struct Options {
    int64_t units = -1;  ///< A; -1 (`auto`) takes the query's size
  };
  ConcatAttention(const Options& options, const Sizes& sizes);

  Keys prepare(const Variable& values, const Mask& mask) const override;

 private:
  Variable query_weight() const override;

  Sizes sizes_;
  Linear joint_;
};

/// Reads `score` and its options; `dot` with sizes that differ is refused.
AttentionMaker read_luong(Section& section, const Attention::Sizes& sizes);

}  // namespace lookback
