#pragma once

#include "nn/module.h"

namespace lookback {

/// Layer normalisation (Ba et al., 2016) over the last dimension, (..., D) -> (..., D). Parameters as
/// in torch.nn.LayerNorm: `weight` (D), at first 1, and `bias` (D), at first 0.
class LayerNorm : public Module {
 public:
  struct Options {
    int64_t size = 0;  ///< D
    double eps = 1e-5;
  };
  explicit LayerNorm(const Options& options);

  Variable operator()(const Variable& x) const;

 private:
  double eps_;
  Variable weight_, bias_;
};

}  // namespace lookback
