#pragma once

#include <span>
#include <vector>

#include "autograd/ops.h"

namespace lookback {

/// The keys and values of the tokens that sentences have so far, in some layers: what decoding token by
/// token looks back at, without history. What a step gave stays where it is for good: a new token copies
/// none of the old ones, and where sentences are taken, only the list of rows that they go on from changes.
/// A value; copies share the tensors.
class Past {
 public:
  Past() = default;
  Past(int64_t layers, int64_t batch) : batch_(batch), layers_(static_cast<size_t>(layers)) {}

  /// Tokens that the layer has.
  int64_t tokens(int64_t layer) const {
    return static_cast<int64_t>(layers_.at(static_cast<size_t>(layer)).size());
  }
  int64_t bytes() const;  ///< that its tensors hold

  /// One token more for a layer: (B, 2 G K), keys of G heads side by side, then values.
  void append(int64_t layer, const Tensor& keys_and_values);
  /// dot_product_attention() of one query a sentence, heads in columns of (B, 1, W), with all tokens of
  /// a layer: (B, 1, H K), to the same bits.
  Tensor attend(int64_t layer, const Heads& query, int64_t key_value_heads) const;
  /// The past of these sentences, in this order; one may come several times.
  Past take(std::span<const int64_t> sentences) const;

 private:
  int64_t batch_ = 0;
  std::vector<std::vector<Tensor>> layers_;  // a tensor each token
  std::vector<std::vector<int64_t>> rows_;   // of each token: the row of its tensors, by sentence
};

}  // namespace lookback
