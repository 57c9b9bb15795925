#include "autograd/gradient_check.h"

#include <algorithm>
#include <cmath>

#include "autograd/ops.h"
#include "core/error.h"

namespace lookback {

Variable uneven_loss(const std::vector<Variable>& results) {
  Variable loss;
  double at = 0;
  for (const Variable& result : results) {
    if (!result.defined()) continue;
    Tensor coefficients(result.shape());
    for (Real& c : coefficients.values()) c = static_cast<Real>(0.3 + std::sin(1.7 * ++at));
    Variable part = sum(multiply(result, coefficients));
    loss = loss.defined() ? add(loss, part) : part;
  }
  return loss;
}

GradientCheck check_gradients_of(const std::function<std::vector<Variable>()>& function,
                                 std::vector<Variable> leaves, double step) {
  Gradients gradients = backward(uneven_loss(function()));
  NoGrad no_history;
  GradientCheck out;
  for (size_t l = 0; l < leaves.size(); ++l) {
    Tensor gradient = gradients.of(leaves[l]);
    std::span<Real> values = leaves[l].leaf_value().values();
    for (size_t i = 0; i < values.size(); ++i) {
      Real before = values[i];
      values[i] = static_cast<Real>(before + step);
      double up = uneven_loss(function()).item();
      values[i] = static_cast<Real>(before - step);
      double down = uneven_loss(function()).item();
      values[i] = before;
      double difference = (up - down) / (2 * step);
      double ours = gradient.defined() ? gradient.values()[i] : 0;
      double error =
          std::abs(ours - difference) / std::max({1.0, std::abs(ours), std::abs(difference)});
      if (!(error <= out.worst)) {  // a NaN counts as the worst
        out.worst = std::isnan(error) ? INFINITY : error;
        out.where =
            format("input {}, element {}: backward {}, difference {}", l, i, ours, difference);
      }
    }
  }
  return out;
}

GradientCheck check_gradients(
    const std::function<std::vector<Variable>(const std::vector<Variable>&)>& function,
    const std::vector<Tensor>& inputs, double step) {
  std::vector<Variable> leaves;
  for (const Tensor& input : inputs) leaves.emplace_back(input.clone(), true);
  return check_gradients_of([&] { return function(leaves); }, leaves, step);
}

}  // namespace lookback
