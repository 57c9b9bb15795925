#pragma once

#include <array>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "autograd/variable.h"
#include "core/allocator.h"
#include "core/profile.h"

namespace lookback {

/// Where an op's backward puts the gradients of its inputs. It only gets what it asks for, and the
/// engine sums dimensions that were broadcast and checks every shape.
class GradientSink {
 public:
  virtual ~GradientSink() = default;
  /// Whether input `i` needs a gradient at all; backward skips the work where it does not.
  virtual bool wants(int i) const = 0;
  /// Adds a gradient of the input's shape, or of a shape that the input was broadcast to.
  virtual void add(int i, Tensor gradient) = 0;
  /// The input's gradient so far (zeros at first), to be added into in place.
  virtual Tensor& accumulated(int i) = 0;
  /// Adds left^T right, both seen as matrices of Shape::rows() x columns(), to the gradient seen so: what
  /// a weight gets from each place that multiplied by it. The products of one weight wait for one another
  /// and become one large one; so left and right must not be written afterwards.
  virtual void add_product(int i, const Tensor& left, const Tensor& right) = 0;
  /// The same for each sentence alone: left (B, T, M) or (B, M), right (B, T, N) or (B, N), an input of
  /// (B, M, N). What the keys and values of an attention get from each query.
  virtual void add_products(int i, const Tensor& left, const Tensor& right) = 0;
};

/// Gradients that reach an op's results; undefined where none does. One that is unique() may be written: nobody
/// will read it again.
using OutputGradients = std::span<const Tensor>;

/// One op in the graph: what it came from and how gradients pass through it. It does not hold its
/// results; a backward that needs values keeps the tensors (never Variables: history is kept by
/// `inputs` alone, so that tearing down a long chain stays iterative).
class Node {
 public:
  struct Edge {
    std::shared_ptr<Node> node;  // null where the input needs no gradient
    int output = 0;
  };

  Node(const char* op, std::vector<Shape> results, std::vector<Shape> input_shapes);
  virtual ~Node();
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;

  virtual bool is_leaf() const { return false; }
  virtual void backward(OutputGradients gradients, GradientSink& into) const = 0;

  const char* op;
  /// Grows with creation, so that every node is younger than its inputs: backward walks by falling
  /// id.
  const uint64_t id;
  const std::vector<Shape> results;
  const std::vector<Shape> input_shapes;
  std::vector<Edge> inputs;
};

/// Makes the Variables that an op returns. An op reads:
///
///     Tensor out = ...;
///     return GraphBuilder("mul", {a, b}).result(out, [a = a.value(), b = b.value()](
///         OutputGradients g, GradientSink& into) {
///       if (into.wants(0)) into.add(0, times(g[0], b));
///       if (into.wants(1)) into.add(1, times(g[0], a));
///     });
///
/// Where no input requires a gradient, or recording is off, the result is a constant and the
/// backward is dropped with the tensors it holds.
class GraphBuilder {
 public:
  GraphBuilder(const char* op, std::vector<Variable> inputs)
      : op_(op), inputs_(std::move(inputs)) {}

  /// Whether a backward will be kept; an op may skip saving what only backward needs.
  bool records() const;

  template <class Backward>
  Variable result(Tensor value, Backward backward) {
    return results(std::vector<Tensor>{std::move(value)}, std::move(backward))[0];
  }
  template <class Backward>
  std::vector<Variable> results(std::vector<Tensor> values, Backward backward) {
    std::shared_ptr<Node> node;
    if (records()) {
      node = std::allocate_shared<Function<Backward>>(CachedAllocator<Function<Backward>>(), op_,
                                                      shapes(values), input_shapes(),
                                                      std::move(backward));
      connect(*node);
    }
    std::vector<Variable> out(values.size());
    for (size_t i = 0; i < values.size(); ++i) out[i] = attach(std::move(values[i]), node, i);
    profile_op_done(op_);
    return out;
  }

 private:
  template <class Backward>
  struct Function final : Node {
    Function(const char* op, std::vector<Shape> results, std::vector<Shape> inputs, Backward f)
        : Node(op, std::move(results), std::move(inputs)), function(std::move(f)) {}
    void backward(OutputGradients gradients, GradientSink& into) const override {
      function(gradients, into);
    }
    Backward function;
  };

  static std::vector<Shape> shapes(const std::vector<Tensor>& values);
  std::vector<Shape> input_shapes() const;
  void connect(Node& node) const;
  static Variable attach(Tensor value, const std::shared_ptr<Node>& node, size_t output);

  const char* op_;
  std::vector<Variable> inputs_;
};

}  // namespace lookback
