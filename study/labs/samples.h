#pragma once

#include <string_view>
#include <vector>

#include "autograd/variable.h"
#include "core/random.h"
#include "nn/module.h"

namespace lookback {

/// Independent standard normal numbers; `what` and `turn` name the draw.
Tensor normals(const Shape& shape, uint64_t seed, std::string_view what, uint64_t turn = 0);
/// 0 .. count - 1 in a drawn order, never the order that they stand in; count > 1.
std::vector<int64_t> permutation(int64_t count, uint64_t seed, std::string_view what);

/// Rows of dimension 1 in this order: (B, S, D) -> (B, S, D).
Tensor reordered(const Tensor& x, const std::vector<int64_t>& order);
/// The nearest numbers that bf16 holds: the upper 16 bits of a float, ties to even.
Tensor rounded_to_bf16(const Tensor& x);
/// The scores behind attention weights (..., S), where key 0 is zeros and so has score 0:
/// e_j = log(w_j / w_0).
std::vector<double> scores_behind(const Tensor& weights);

/// Draws a layer's parameters, biases too, so that none is left out by being zero.
void draw_parameters(Module& module, uint64_t seed);
/// A parameter by name; Error where there is none.
Variable parameter_of(const Module& module, std::string_view name);

double largest_difference(const Tensor& a, const Tensor& b);
double largest_size(const Tensor& x);  ///< the largest |x|
bool all_finite(const Tensor& x);
std::vector<double> doubles(const Tensor& x);

}  // namespace lookback
