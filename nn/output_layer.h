#pragma once

#include "autograd/ops.h"
#include "nn/module.h"

namespace lookback {

/// Works the logits out: (..., V).
Variable logits(const LinearLogits& pending);

/// The last layer of a decoder: features (..., inputs) -> logits (..., V), W x + b. Parameters as in
/// torch.nn.Linear: `weight` (V, inputs), unless it is tied to a table of word vectors (Press and
/// Wolf, 2017), and `bias` (V).
class OutputLayer : public Module {
 public:
  struct Options {
    int64_t inputs = 0;
    int64_t words = 0;
  };
  /// `tied`: the table of word vectors, (V, inputs), or undefined for a weight of its own.
  OutputLayer(const Options& options, const Variable& tied);

  Variable operator()(const Variable& features) const { return logits(pending(features)); }
  /// The same, not worked out yet: linear_cross_entropy() needs no more.
  LinearLogits pending(const Variable& features) const;
  const Variable& weight() const { return weight_; }
  const Variable& bias() const { return bias_; }

 private:
  Variable weight_, bias_;
};

}  // namespace lookback
