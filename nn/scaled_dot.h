#pragma once

#include "nn/dot_product.h"
#include "nn/linear.h"

namespace lookback {

/// Scaled dot-product attention (Vaswani et al., 2017; the tutorial's definition 2.4.4) of a
/// recurrent decoder, with one head:
///     e_j = (W_q s) . (W_k h_j) / sqrt(K)   a = softmax(e)   c = sum_j a_j W_v h_j
/// Parameters: `query.weight` W_q (K, D_s), `key.weight` W_k (K, D_h), `value.weight` W_v
/// (D_h, D_h).
class ScaledDotAttention final : public DotProductAttention {
 public:
  struct Options {
    int64_t units = -1;  ///< K; -1 (`auto`) takes the query's size
  };
  ScaledDotAttention(const Options& options, const Sizes& sizes);

  Keys prepare(const Variable& values, const Mask& mask) const override;

 protected:
  Variable project(const Variable& query) const override { return query_(query); }

 private:
  Linear query_, key_, value_;
};

void read(Section& section, ScaledDotAttention::Options& options);

}  // namespace lookback
