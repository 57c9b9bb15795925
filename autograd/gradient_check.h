#pragma once

#include <functional>
#include <string>
#include <vector>

#include "autograd/variable.h"

namespace lookback {

struct GradientCheck {
  double worst = 0;   ///< largest |backward - difference| / max(1, |backward|, |difference|)
  std::string where;  ///< `input 1, element 7: backward 0.25, difference 0.2499`
};

/// Holds backward() against central differences, (L(x + h) - L(x - h)) / 2h, for every element of
/// every input. The loss L = sum_i c_i y_i over all results has a different coefficient for each
/// element, so that a transposed or mixed-up gradient cannot pass, as it can through a plain sum.
/// Worth doing in the double build alone: a float leaves about three digits.
GradientCheck check_gradients(
    const std::function<std::vector<Variable>(const std::vector<Variable>&)>& function,
    const std::vector<Tensor>& inputs, double step = 1e-5);

/// The same for leaves that the function holds itself, such as a layer's parameters.
GradientCheck check_gradients_of(const std::function<std::vector<Variable>()>& function,
                                 std::vector<Variable> leaves, double step = 1e-5);

/// sum_i c_i y_i over all elements of all results, c_i fixed and all different.
Variable uneven_loss(const std::vector<Variable>& results);

}  // namespace lookback
