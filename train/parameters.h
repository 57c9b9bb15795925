#pragma once

#include <functional>
#include <string>
#include <vector>

#include "nn/module.h"

namespace lookback {

/// A model's parameters side by side with their gradients, in the order of Module::parameters(). An
/// undefined gradient means that the loss does not depend on the parameter.
struct ParameterGradients {
  std::vector<Tensor> tensors;
  double norm = 0;                      ///< global L2 norm
  std::vector<std::string> not_finite;  ///< names of parameters whose gradient holds an inf or NaN
};

/// Adds the gradients of all shards, shard 0 first, into one each and takes the global norm. The
/// pieces are cut by size alone and the sums run in a fixed order, so the bits do not depend on the
/// threads.
ParameterGradients reduce(const std::vector<Module::Named>& parameters,
                          std::vector<Gradients> shards);

/// Runs body(parameter, begin, end) over pieces of all the tensors of the given sizes, side by
/// side.
void over_pieces(const std::vector<int64_t>& sizes,
                 const std::function<void(size_t which, int64_t begin, int64_t end)>& body);

}  // namespace lookback
