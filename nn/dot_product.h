#pragma once

#include "nn/attention.h"

namespace lookback {

/// Attention whose score is an inner product, e_j = scale (q . k_j); what q and k_j are is the
/// derived class's: k_j is what prepare() projected.
class DotProductAttention : public Attention {
 public:
  Attended attend(const Variable& query, const Keys& keys) const override;
  Attended attend_all(const Variable& queries, const Keys& keys) const override;

 protected:
  explicit DotProductAttention(double scale) : scale_(scale) {}
  /// s -> q, (..., query) -> (..., K), K being the units of a key.
  virtual Variable project(const Variable& query) const { return query; }

 private:
  double scale_;
};

}  // namespace lookback
