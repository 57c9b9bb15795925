#include <queue>
#include <unordered_map>

#include "autograd/broadcast.h"
#include "autograd/node.h"
#include "autograd/variable.h"
#include "core/error.h"
#include "core/gemm.h"
#include "core/threads.h"

namespace lookback {
namespace {

constexpr const char* kSums = "sums of gradients";  // in a profile
constexpr const char* kWeights = "products that waited";

/// Gradients are handed on without copying, so a tensor may wait in two places; whoever adds to it first
/// takes a copy.
void make_own(Tensor& tensor) {
  if (!tensor.unique()) tensor = tensor.clone();
}

/// The gradient that has reached one result of a node and waits until all its users are done: a sum, and
/// products that are still to be added to it.
class Waiting {
 public:
  Tensor sum;

  /// `matrices` of the gradient, each with as many of the rows of left and right.
  void add_product(const Shape& shape, int64_t matrices, const Tensor& left, const Tensor& right) {
    if (matrices != matrices_ && !left_.empty()) multiply(shape);
    matrices_ = matrices;
    left_.push_back(left);
    right_.push_back(right);
    rows_ += left.shape().rows();
    if (rows_ >= kEnough * matrices) multiply(shape);
  }

  /// All that has come together.
  Tensor& settle(const Shape& shape) {
    if (!left_.empty()) multiply(shape);
    return sum;
  }

 private:
  // Rows of one matrix from which a product is no faster for being longer, and what waits takes memory.
  static constexpr int64_t kEnough = 1024;

  void multiply(const Shape& shape) {
    ProfileScope timed(Phase::kBackward, kWeights);
    bool first = !sum.defined();
    if (first)
      sum = Tensor(shape);
    else
      make_own(sum);
    int64_t rows = shape.rows() / matrices_, columns = shape.columns();
    auto one = [&](int64_t matrix) {
      gemm_rows(rows_of(left_, matrix), rows_of(right_, matrix),
                mutable_matrix(sum.data() + matrix * rows * columns, rows, columns), !first);
    };
    if (matrices_ == 1)
      one(0);  // a large one, which is split inside
    else
      parallel_tasks(matrices_, one);
    left_.clear();
    right_.clear();
    rows_ = 0;
  }

  std::vector<Rows> rows_of(const std::vector<Tensor>& tensors, int64_t matrix) const {
    std::vector<Rows> out;
    for (const Tensor& x : tensors) {
      int64_t rows = x.shape().rows() / matrices_, columns = x.shape().columns();
      out.push_back({x.data() + matrix * rows * columns, columns, rows});
    }
    return out;
  }

  std::vector<Tensor> left_, right_;
  int64_t rows_ = 0, matrices_ = 1;
};

/// One call of backward(): everything it gathers lives here and dies with it.
class Walk {
 public:
  void arrive(const std::shared_ptr<Node>& node, int output, Tensor gradient) {
    ProfileScope timed(Phase::kBackward, kSums);
    Tensor& sum = slot(node, output).sum;
    if (!sum.defined()) {
      sum = std::move(gradient);
      return;
    }
    add_into(sum, gradient);
  }

  /// The waiting gradient of a node's result; first use puts the node in line.
  Waiting& slot(const std::shared_ptr<Node>& node, int output) {
    auto [place, fresh] = waiting_.try_emplace(node.get());
    if (fresh) {
      place->second.resize(node->results.size());
      line_.push({node->id, node});
    }
    return place->second[static_cast<size_t>(output)];
  }

  std::shared_ptr<Node> next() {
    if (line_.empty()) return nullptr;
    std::shared_ptr<Node> node = line_.top().node;
    line_.pop();
    return node;
  }

  std::vector<Tensor> take(const Node* node) {
    auto found = waiting_.find(node);
    std::vector<Tensor> gradients;
    for (size_t i = 0; i < found->second.size(); ++i)
      gradients.push_back(found->second[i].settle(node->results[i]));
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
  std::unordered_map<const Node*, std::vector<Waiting>> waiting_;
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
    Tensor& sum = slot(i).sum;
    if (sum.defined())
      make_own(sum);
    else
      sum = Tensor::zeros(node_.input_shapes[i]);
    return sum;
  }

  void add_product(int i, const Tensor& left, const Tensor& right) override {
    if (wants(i)) add_product(i, 1, left, right);
  }

  void add_products(int i, const Tensor& left, const Tensor& right) override {
    const Shape& shape = node_.input_shapes[static_cast<size_t>(i)];
    if (wants(i) && shape.count() > 0) add_product(i, shape[0], left, right);
  }

 private:
  void add_product(int i, int64_t matrices, const Tensor& left, const Tensor& right) {
    const Shape& shape = node_.input_shapes[static_cast<size_t>(i)];
    const Shape &l = left.shape(), &r = right.shape();
    if (l.rows() != r.rows() || l.rows() % matrices != 0 ||
        l.columns() * matrices != shape.rows() || r.columns() != shape.columns())
      fail("[{}] a product of {} transposed and {} is no gradient of input {}, {}", node_.op,
           l.text(), r.text(), i, shape.text());
    slot(i).add_product(shape, matrices, left, right);
  }

  Waiting& slot(int i) { return walk_.slot(node_.inputs[i].node, node_.inputs[i].output); }

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
