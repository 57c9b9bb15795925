#pragma once

#include "nn/attention.h"

namespace lookback {

/// What the additive scores have in common (Bahdanau et al., 2015): queries are projected and held
/// against projected keys,
///     e_j = v . tanh(W_s s + k_j)   a = softmax(e)   c = sum_j a_j h_j
/// Whoever derives from it says what W_s and the keys are.
class AdditiveAttention : public Attention {
 public:
  Keys share(const Keys& keys) const final;
  Attended attend(const Variable& query, const Keys& keys) const final;
  Attended attend_all(const Variable& queries, const Keys& keys) const final;

 protected:
  /// Registers the parameter `v` (A), drawn from U(-1/sqrt(A), 1/sqrt(A)).
  void make_v(int64_t units);

 private:
  virtual Variable query_weight() const = 0;  ///< W_s (A, D_s)

  Variable v_;
};

}  // namespace lookback
