#pragma once

#include "nn/module.h"

namespace lookback {

/// y = x W^T + b, (..., inputs) -> (..., outputs). Parameters as in torch.nn.Linear: `weight`
/// (outputs, inputs), `bias` (outputs), both drawn from U(-1/sqrt(inputs), 1/sqrt(inputs)).
class Linear : public Module {
 public:
  struct Options {
    int64_t inputs = 0;
    int64_t outputs = 0;
    bool bias = true;
  };
  explicit Linear(const Options& options);

  Variable operator()(const Variable& x) const;
  const Variable& weight() const { return weight_; }
  const Variable& bias() const { return bias_; }  ///< undefined when there is none

 private:
  Variable weight_, bias_;
};

}  // namespace lookback
