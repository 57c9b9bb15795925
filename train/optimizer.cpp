#include "train/optimizer.h"

#include "train/adam.h"
#include "train/sgd.h"

namespace lookback {
namespace {

OptimizerFactory adam(bool decoupled) {
  return [decoupled](Section& section) -> OptimizerPlan {
    Adam::Options options;
    read(section, options);
    options.decoupled = decoupled;
    return {.rate = options.lr, .make = [options](std::vector<Module::Named> parameters) {
              return std::make_unique<Adam>(options, std::move(parameters));
            }};
  };
}

OptimizerPlan sgd(Section& section) {
  Sgd::Options options;
  read(section, options);
  return {.rate = options.lr, .make = [options](std::vector<Module::Named> parameters) {
            return std::make_unique<Sgd>(options, std::move(parameters));
          }};
}

}  // namespace

Registry<OptimizerFactory>& optimizers() {
  static Registry<OptimizerFactory> registry = [] {
    Registry<OptimizerFactory> r("optimizer");
    r.add("adam", "Adam (Kingma and Ba, 2015)", adam(false));
    r.add("adamw", "Adam with decoupled weight decay (Loshchilov and Hutter, 2019)", adam(true));
    r.add("sgd", "stochastic gradient descent, with momentum if asked for", sgd);
    return r;
  }();
  return registry;
}

}  // namespace lookback
