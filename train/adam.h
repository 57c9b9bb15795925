#pragma once

#include <vector>

#include "train/optimizer.h"

namespace lookback {

/// Adam (Kingma and Ba, 2015): with gradient g and t steps made,
///     m = b1 m + (1 - b1) g     v = b2 v + (1 - b2) g^2
///     w -= lr / (1 - b1^t) * m / (sqrt(v / (1 - b2^t)) + eps)
/// Weight decay is added to the gradient, g += decay w, as torch.optim.Adam does; decoupled (AdamW,
/// Loshchilov and Hutter, 2019) it shrinks the weight first, w -= lr decay w.
class Adam final : public Optimizer {
 public:
  struct Options {
    double lr = 1e-3;
    std::vector<double> betas = {0.9, 0.999};
    double eps = 1e-8;
    double weight_decay = 0;
    bool decoupled = false;
  };
  Adam(const Options& options, std::vector<Module::Named> parameters);

  void step(const ParameterGradients& gradients, double rate, double factor) override;
  std::vector<NamedTensor> state() const override;
  void load(const TensorFile& file) override;

 private:
  Options options_;
  std::vector<Module::Named> parameters_;
  std::vector<Tensor> first_, second_;
  std::vector<int64_t> steps_;  // a parameter each: one without gradient makes no step
};

/// Reads `lr, betas, eps, weight_decay`.
void read(Section& section, Adam::Options& options);

}  // namespace lookback
