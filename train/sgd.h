#pragma once

#include <vector>

#include "train/optimizer.h"

namespace lookback {

/// Stochastic gradient descent with momentum, as torch.optim.SGD: g += decay w, then b = momentum b
/// + g (b = g at the first step) and w -= lr b; without momentum w -= lr g.
class Sgd final : public Optimizer {
 public:
  struct Options {
    double lr = 0.1;
    double momentum = 0;
    double weight_decay = 0;
  };
  Sgd(const Options& options, std::vector<Module::Named> parameters);

  void step(const ParameterGradients& gradients, double rate, double factor) override;
  std::vector<NamedTensor> state() const override;
  void load(const TensorFile& file) override;

 private:
  Options options_;
  std::vector<Module::Named> parameters_;
  std::vector<Tensor> momentum_;  // starting from zero, the first step leaves b = g
};

/// Reads `lr, momentum, weight_decay`.
void read(Section& section, Sgd::Options& options);

}  // namespace lookback
