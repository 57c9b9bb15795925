#include <map>

#include "nn/linear.h"
#include "parity/parity.h"
#include "train/adam.h"
#include "train/sgd.h"
#include "train/step.h"

// Optimisers and clipping, as a training step uses them, against what PyTorch computed
// (optimisers.py): twenty steps on given gradients, every step's norm and weights compared.

namespace lookback {
namespace {

using testing::Parity;

/// Row t of (T, ...).
Tensor row(const Tensor& x, int64_t t) {
  return unbind(Variable(x), 0).at(static_cast<size_t>(t)).value();
}

std::unique_ptr<Optimizer> make(const std::string& name, double decay,
                                const std::vector<Module::Named>& parameters) {
  if (name.starts_with("sgd"))
    return std::make_unique<Sgd>(
        Sgd::Options{.momentum = name == "sgd_momentum" ? 0.9 : 0, .weight_decay = decay},
        parameters);
  return std::make_unique<Adam>(
      Adam::Options{.betas = {0.9, 0.98}, .weight_decay = decay, .decoupled = name == "adamw"},
      parameters);
}

/// The gradient of sum_p sum(g_p p) is g_p; a parameter that is left out has none.
ParameterGradients gradients_of(const Parity& c, const std::vector<Module::Named>& parameters,
                                int64_t t) {
  Variable loss;
  for (size_t p = 0; p < parameters.size(); ++p) {
    if (c.get("input", "has_gradient").at({t, static_cast<int64_t>(p)}) == 0) continue;
    Variable g(row(c.get("input", "gradient." + parameters[p].name), t));
    Variable part = sum(g * parameters[p].variable);
    loss = loss.defined() ? loss + part : part;
  }
  std::vector<Gradients> shards;
  shards.push_back(backward(loss));
  return reduce(parameters, std::move(shards));
}

TEST(Parity, OptimisersWithDecayClippingAndMissingGradients) {
  for (std::string name : {"adam", "adamw", "sgd", "sgd_momentum"})
    for (double decay : {0.0, 0.1})
      for (bool clip : {false, true}) {
        Parity c(format("{}_{:.1f}{}", name, decay, clip ? "_clipped" : ""));
        Linear layer({.inputs = 3, .outputs = 2});
        c.load(layer);
        std::vector<Module::Named> parameters = layer.parameters();
        std::unique_ptr<Optimizer> optimizer = make(name, decay, parameters);
        std::span<const Real> rates = c.get("input", "rates").values();
        std::vector<Variable> norms;
        std::map<std::string, std::vector<Variable>> after;
        for (size_t t = 0; t < rates.size(); ++t) {
          ParameterGradients g = gradients_of(c, parameters, static_cast<int64_t>(t));
          norms.emplace_back(Tensor::from({1}, {static_cast<Real>(g.norm)}));
          optimizer->step(g, rates[t], clip_factor(g.norm, c.get("input", "clip").item()));
          for (const Module::Named& p : parameters)
            after[p.name].emplace_back(p.variable.value().clone());
        }
        c.expect_equal("result", "norms", concat(norms, 0).value());
        for (const auto& [parameter, values] : after)
          c.expect_equal("result", parameter, stack(values, 0).value());
      }
}

}  // namespace
}  // namespace lookback
