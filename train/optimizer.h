#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/registry.h"
#include "core/safetensors.h"
#include "train/parameters.h"

namespace lookback {

/// Changes parameters by their gradients, once a step.
class Optimizer {
 public:
  virtual ~Optimizer() = default;
  /// One update. `rate` is the schedule's rate for this step; gradients are multiplied by `factor`
  /// first (clipping). A parameter without gradient stays as it is.
  virtual void step(const ParameterGradients& gradients, double rate, double factor) = 0;
  /// Everything that the next step depends on besides parameters: moments, and how many steps were
  /// made.
  virtual std::vector<NamedTensor> state() const = 0;
  /// Takes state() back from a file; UserError where it does not fit.
  virtual void load(const TensorFile& file) = 0;
};

/// An optimiser as its section of the config describes it.
struct OptimizerPlan {
  double rate = 0;  ///< `lr`, which the schedule scales
  std::function<std::unique_ptr<Optimizer>(std::vector<Module::Named>)> make;
};
using OptimizerFactory = std::function<OptimizerPlan(Section&)>;
/// adam, adamw, sgd, and what a program adds.
Registry<OptimizerFactory>& optimizers();

}  // namespace lookback
