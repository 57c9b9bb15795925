#pragma once

#include "nn/additive.h"
#include "nn/linear.h"

namespace lookback {

/// Additive attention (Bahdanau et al., 2015; the tutorial's definition 2.4.2):
///     e_j = v . tanh(W_s s + W_h h_j)   a = softmax(e)   c = sum_j a_j h_j
/// Parameters: `query.weight` W_s (A, D_s), `key.weight` W_h (A, D_h), `v` (A).
class BahdanauAttention : public AdditiveAttention {
 public:
  struct Options {
    int64_t units = -1;  ///< A; -1 (`auto`) takes the query's size
  };
  BahdanauAttention(const Options& options, const Sizes& sizes);

  Keys prepare(const Variable& values, const Mask& mask) const override;

 private:
  Variable query_weight() const override { return query_.weight(); }

  Linear query_, key_;
};

void read(Section& section, BahdanauAttention::Options& options);

}  // namespace lookback
