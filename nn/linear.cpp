#include "nn/linear.h"

#include <cmath>

#include "autograd/ops.h"
#include "core/error.h"

namespace lookback {

Linear::Linear(const Options& options) {
  if (options.inputs < 1 || options.outputs < 1)
    fail("[linear] needs at least one input and one output, not {} and {}", options.inputs,
         options.outputs);
  Initializer draw = uniform(1 / std::sqrt(static_cast<double>(options.inputs)));
  weight_ = parameter("weight", {options.outputs, options.inputs}, draw);
  if (options.bias) bias_ = parameter("bias", {options.outputs}, draw);
}

Variable Linear::operator()(const Variable& x) const {
  return linear(x, weight_, bias_);
}

}  // namespace lookback
