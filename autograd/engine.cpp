#include <queue>
#include <unordered_map>

#include "autograd/broadcast.h"
#include "autograd/node.h"
#include "autograd/variable.h"
#include "core/error.h"

namespace lookback {
namespace {

constexpr const char* kSums = "sums of gradients";  // in a profile

/// The gradients that have reached a node's results and wait until all its users are done.
struct Waiting {
  std::vector<Tensor> gradients;
};

/// One call of backward(): everything it gathers lives here and dies with it.
class Walk {
 public:
  void arrive(const std::shared_ptr<Node>& node, int output, Tensor gradient) {
    ProfileScope timed(Phase::kBackward, kSums);
    Tensor& sum = slot(node, output);
    if (!sum.defined()) {
      sum = std::move(gradient);
      return;
    }
    make_own(sum);
    add_into(sum, gradient);
  }

  /// The waiting gradient of a node's result; first use puts the node in line.
  Tensor& slot(const std::shared_ptr<Node>& node, int output) {
    auto [place, fresh] = waiting_.try_emplace(node.get());
    if (fresh) {
      place->second.gradients.resize(node->results.size());
      line_.push({node->id, node});
    }
    return place->second.gradients[output];
  }

  /// Gradients are handed on without copying, so a tensor may wait in two places; whoever adds to
  /// it first takes a copy.
  static void make_own(Tensor& tensor) {
    if (!tensor.unique()) tensor = tensor.clone();
  }

  std::shared_ptr<Node> next() {
    if (line_.empty()) return nullptr;
    std::shared_ptr<Node> node = line_.top().node;
    line_.pop();
    return node;
  }

  std::vector<Tensor> take(const Node* node) {
    auto found = waiting_.find(node);
    std::vector<Tensor> gradients = std::move(found->second.gradients);
    waiting_.erase(found);
    return gradients;
  }

 private:
  struct Place {
    uint64_t id;
    std::shared_ptr<Node> node;
    bool operator<(const Place& other) const { return id < other.id; }
  };
  std::priority_queue<Place> line_;  // youngest first: all users of a node come before the node
  std::unordered_map<const Node*, Waiting> waiting_;
};

class Sink final : public GradientSink {
 public:
  Sink(Walk& walk, const Node& node) : walk_(walk), node_(node) {}

  bool wants(int i) const override { return node_.inputs[i].node != nullptr; }

  void add(int i, Tensor gradient) override {
    if (!wants(i)) return;
    const Shape& shape = node_.input_shapes[i];
    if (gradient.shape() != shape) gradient = sum_to(node_.op, i, gradient, shape);
    walk_.arrive(node_.inputs[i].node, node_.inputs[i].output, std::move(gradient));
  }

  Tensor& accumulated(int i) override {
    ProfileScope timed(Phase::kBackward, kSums);
    Tensor& sum = walk_.slot(node_.inputs[i].node, node_.inputs[i].output);
    if (sum.defined())
      Walk::make_own(sum);
    else
      sum = Tensor::zeros(node_.input_shapes[i]);
    return sum;
  }

  void add_product(int i, const MatrixView& a, const MatrixView& b) override {
    if (!wants(i)) return;
    const Shape& shape = node_.input_shapes[i];
    Tensor& sum = walk_.slot(node_.inputs[i].node, node_.inputs[i].output);
    bool first = !sum.defined();
    if (first)
      sum = Tensor(shape);
    else
      Walk::make_own(sum);
    gemm(a, b, mutable_matrix(sum.data(), shape.rows(), shape.columns()), {.accumulate = !first});
  }

 private:
  Walk& walk_;
  const Node& node_;
};

}  // namespace

Gradients backward(const Variable& result, const Tensor& seed) {
  if (!result.defined()) fail("[backward] the result is undefined");
  if (!result.requires_grad())
    fail("[backward] the result depends on nothing that requires a gradient");
  if (seed.shape() != result.shape())
    fail("[backward] the seed has shape {}, the result {}", seed.shape().text(),
         result.shape().text());
  ProfileScope timed(Phase::kBackward, "walk over the graph");
  NoGrad no_history;
  Walk walk;
  Gradients out;
  walk.arrive(result.node(), result.output(), seed);
  while (std::shared_ptr<Node> node = walk.next()) {
    std::vector<Tensor> gradients = walk.take(node.get());
    if (node->is_leaf()) {
      out.by_leaf_[node.get()] = std::move(gradients[0]);
      out.alive_.push_back(std::move(node));
      continue;
    }
    Sink sink(walk, *node);
    ProfileScope timed(Phase::kBackward, node->op);
    node->backward(gradients, sink);
  }
  return out;
}

Gradients backward(const Variable& loss) {
  if (loss.count() != 1)
    fail("[backward] a loss has one element, this has shape {}; sum it, or give a seed",
         loss.shape().text());
  return backward(loss, Tensor::full(loss.shape(), 1));
}

Tensor Gradients::of(const Variable& leaf) const {
  auto found = by_leaf_.find(leaf.node().get());
  return found == by_leaf_.end() ? Tensor() : found->second;
}

}  // namespace lookback
