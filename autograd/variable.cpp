#include "autograd/variable.h"

#include <atomic>

#include "autograd/node.h"
#include "core/error.h"

namespace lookback {
namespace {

thread_local bool recording_now = true;

/// The end of every path that a gradient takes.
struct Leaf final : Node {
  explicit Leaf(const Shape& shape) : Node("leaf", {shape}, {}) {}
  bool is_leaf() const override { return true; }
  void backward(OutputGradients, GradientSink&) const override {}
};

uint64_t next_id() {
  static std::atomic<uint64_t> last{0};
  return last.fetch_add(1, std::memory_order_relaxed);
}

}  // namespace

Variable::Variable(Tensor value, bool requires_grad) : value_(std::move(value)) {
  if (requires_grad) node_ = std::make_shared<Leaf>(value_.shape());
}

bool Variable::is_leaf() const {
  return !node_ || node_->is_leaf();
}

Tensor& Variable::leaf_value() {
  if (!is_leaf()) fail("[leaf_value] a result of {} is not a leaf", node_->op);
  gathered_ = nullptr;  // whoever changes the rows changes no table
  return value_;
}

Node::Node(const char* op, std::vector<Shape> results, std::vector<Shape> input_shapes)
    : op(op), id(next_id()), results(std::move(results)), input_shapes(std::move(input_shapes)) {}

Node::~Node() {
  // Dropping the inputs one inside another would overflow the stack on a long chain. Nodes that
  // nobody else holds are taken apart here, one after the other.
  std::vector<Edge> doomed = std::move(inputs);
  while (!doomed.empty()) {
    std::shared_ptr<Node> node = std::move(doomed.back().node);
    doomed.pop_back();
    if (node && node.use_count() == 1) {
      for (Edge& edge : node->inputs) doomed.push_back(std::move(edge));
      node->inputs.clear();
    }
  }
}

NoGrad::NoGrad() : before_(recording_now) {
  recording_now = false;
}

NoGrad::~NoGrad() {
  recording_now = before_;
}

bool recording() {
  return recording_now;
}

bool GraphBuilder::records() const {
  if (!recording_now) return false;
  for (const Variable& input : inputs_)
    if (input.requires_grad()) return true;
  return false;
}

std::vector<Shape> GraphBuilder::shapes(const std::vector<Tensor>& values) {
  std::vector<Shape> out;
  out.reserve(values.size());
  for (const Tensor& value : values) out.push_back(value.shape());
  return out;
}

std::vector<Shape> GraphBuilder::input_shapes() const {
  std::vector<Shape> out;
  out.reserve(inputs_.size());
  for (const Variable& input : inputs_) out.push_back(input.shape());
  return out;
}

void GraphBuilder::connect(Node& node) const {
  node.inputs.reserve(inputs_.size());
  for (const Variable& input : inputs_) node.inputs.push_back({input.node(), input.output()});
}

Variable GraphBuilder::attach(Tensor value, const std::shared_ptr<Node>& node, size_t output) {
  Variable out(std::move(value));
  out.node_ = node;
  out.output_ = static_cast<int>(output);
  return out;
}

}  // namespace lookback
