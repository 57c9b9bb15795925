#include "study/labs/samples.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <string>

#include "core/bf16.h"
#include "core/error.h"
#include "core/threads.h"
#include "study/labs/judge.h"

namespace lookback {
namespace {

RandomKey key_of(uint64_t seed, std::string_view what, uint64_t turn) {
  return {.seed = seed, .purpose = purpose("lab." + std::string(what)), .step = turn};
}

}  // namespace

Tensor normals(const Shape& shape, uint64_t seed, std::string_view what, uint64_t turn) {
  constexpr int64_t kPiece = 4096;  // one stream each, so that threads do not change the draw
  Tensor out(shape);
  int64_t pieces = (out.count() + kPiece - 1) / kPiece;
  RandomKey key = key_of(seed, what, turn);
  parallel_tasks(pieces, [&](int64_t piece) {
    RandomKey own = key;
    own.index = static_cast<uint64_t>(piece);
    Random random(own);
    int64_t end = std::min(out.count(), (piece + 1) * kPiece);
    for (int64_t i = piece * kPiece; i < end; ++i)
      out.values()[static_cast<size_t>(i)] = static_cast<Real>(random.normal());
  });
  return out;
}

std::vector<int64_t> permutation(int64_t count, uint64_t seed, std::string_view what) {
  std::vector<int64_t> order(static_cast<size_t>(count));
  std::iota(order.begin(), order.end(), int64_t{0});
  Random random(key_of(seed, what, 0));
  // Sattolo's shuffle makes one cycle: nothing stays in its place.
  for (size_t i = order.size() - 1; i > 0; --i)
    std::swap(order[i], order[static_cast<size_t>(random.below(static_cast<int64_t>(i)))]);
  return order;
}

Tensor reordered(const Tensor& x, const std::vector<int64_t>& order) {
  Tensor out(x.shape());
  int64_t each = x.size(1);
  for (int64_t b = 0; b < x.size(0); ++b)
    out.rows(b, 1).copy_from(
        x.rows(b, 1).reshape({each, x.size(2)}).take(order).reshape({1, each, x.size(2)}));
  return out;
}

Tensor rounded_to_bf16(const Tensor& x) {
  Tensor out(x.shape());
  for (size_t i = 0; i < out.values().size(); ++i)
    out.values()[i] = from_bf16(to_bf16(x.values()[i]));
  return out;
}

std::vector<double> scores_behind(const Tensor& weights) {
  int64_t keys = weights.shape().columns();
  std::vector<double> out;
  for (int64_t row = 0; row < weights.shape().rows(); ++row) {
    const Real* w = weights.data() + row * keys;
    for (int64_t j = 1; j < keys; ++j)
      out.push_back(std::log(static_cast<double>(w[j])) - std::log(static_cast<double>(w[0])));
  }
  return out;
}

void draw_parameters(Module& module, uint64_t seed) {
  module.initialize(seed);
  for (Module::Named& named : module.parameters())
    if (named.name.find("bias") != std::string::npos) {
      Tensor drawn = normals(named.variable.shape(), seed, named.name);
      for (Real& value : drawn.values()) value *= Real{0.1};
      named.variable.leaf_value().copy_from(drawn);
    }
}

Variable parameter_of(const Module& module, std::string_view name) {
  for (const Module::Named& named : module.parameters())
    if (named.name == name) return named.variable;
  fail("[lab] no parameter {}", name);
}

double largest_difference(const Tensor& a, const Tensor& b) {
  if (a.shape() != b.shape())
    fail("[lab] {} is not of one shape with {}", a.shape().text(), b.shape().text());
  double largest = 0;
  for (size_t i = 0; i < a.values().size(); ++i) {
    double difference = std::abs(static_cast<double>(a.values()[i]) - b.values()[i]);
    largest = larger(largest, difference);
  }
  return largest;
}

double largest_size(const Tensor& x) {
  return largest_difference(x, Tensor::zeros(x.shape()));
}

bool all_finite(const Tensor& x) {
  return std::all_of(x.values().begin(), x.values().end(),
                     [](Real value) { return std::isfinite(value); });
}

std::vector<double> doubles(const Tensor& x) {
  return {x.values().begin(), x.values().end()};
}

}  // namespace lookback
