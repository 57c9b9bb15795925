#pragma once

#include <memory>
#include <unordered_map>
#include <vector>

#include "core/tensor.h"

namespace lookback {

class Node;
class Gradients;
struct Gathered;

/// A tensor that remembers how it was computed. Copying a Variable shares the tensor and its
/// history.
///
/// A Variable made from a tensor is a *leaf*: a constant, or, with requires_grad, something a
/// gradient is wanted for. The ops of autograd/ops.h make new Variables from old ones; backward()
/// walks from a result to its leaves. A Variable never holds a gradient: backward() returns them.
class Variable {
 public:
  Variable() = default;
  Variable(Tensor value, bool requires_grad = false);  // NOLINT: a tensor is a constant

  bool defined() const { return value_.defined(); }
  const Tensor& value() const { return value_; }
  const Shape& shape() const { return value_.shape(); }
  int64_t size(int dim) const { return value_.size(dim); }
  int rank() const { return value_.rank(); }
  int64_t count() const { return value_.count(); }
  Real item() const { return value_.item(); }

  /// Whether a gradient flows through here: some leaf behind it requires one.
  bool requires_grad() const { return node_ != nullptr; }
  bool is_leaf() const;
  /// The same value without history.
  Variable detach() const { return Variable(value_); }
  /// A leaf's tensor, to be changed in place by an optimiser or a loader. No graph that holds it
  /// may still be walked afterwards.
  Tensor& leaf_value();

  const std::shared_ptr<Node>& node() const { return node_; }
  int output() const { return output_; }
  /// The smaller table that these rows were taken from, some of them several times; null where they
  /// were not (autograd/ops.h).
  const std::shared_ptr<const Gathered>& gathered() const { return gathered_; }

 private:
  friend class GraphBuilder;
  friend Variable gather(std::shared_ptr<const Gathered> rows, const Shape& shape);
  Tensor value_;
  std::shared_ptr<Node> node_;  // null for constants
  int output_ = 0;              // which of the node's results this is
  std::shared_ptr<const Gathered> gathered_;
};

/// What backward() returns: one tensor for each leaf that the loss depends on.
class Gradients {
 public:
  /// Undefined (`!defined()`) when the loss does not depend on the leaf.
  Tensor of(const Variable& leaf) const;
  bool contains(const Variable& leaf) const { return of(leaf).defined(); }
  size_t size() const { return by_leaf_.size(); }

 private:
  friend Gradients backward(const Variable& result, const Tensor& seed);
  std::unordered_map<const Node*, Tensor> by_leaf_;
  std::vector<std::shared_ptr<Node>>
      alive_;  // so that no address is used twice while this map lives
};

/// d(result)/d(leaf) for every leaf, times `seed` (of the result's shape). The graph is left as it
/// was: a second call gives the same answer. Intermediate gradients are freed as they are consumed.
/// Two threads may call it at the same time, over the same leaves or the same graph.
Gradients backward(const Variable& result, const Tensor& seed);
/// For a result with one element; the seed is 1.
Gradients backward(const Variable& loss);

/// While one lives, ops on this thread record no history: for evaluation and decoding.
class NoGrad {
 public:
  NoGrad();
  ~NoGrad();
  NoGrad(const NoGrad&) = delete;
  NoGrad& operator=(const NoGrad&) = delete;

 private:
  bool before_;
};
bool recording();

}  // namespace lookback
