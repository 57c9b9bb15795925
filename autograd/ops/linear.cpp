#include <algorithm>
#include <mutex>

#include "autograd/broadcast.h"
#include "autograd/node.h"
#include "autograd/ops.h"
#include "core/error.h"
#include "core/gemm.h"

namespace lookback {
namespace {

MatrixView as_matrix(const Tensor& x) {
  return matrix(x.data(), x.shape().rows(), x.shape().columns());
}

MutableMatrix as_matrix(Tensor& x) {
  return mutable_matrix(x.data(), x.shape().rows(), x.shape().columns());
}

Shape with_columns(Shape shape, int64_t columns) {
  shape.set(-1, columns);
  return shape;
}

void check_linear(const char* op, const Variable& x, const Variable& weight) {
  if (x.rank() < 1 || weight.rank() != 2 || x.size(-1) != weight.size(1))
    fail(
        "[{}] x {} does not fit weight {} of (outputs, inputs): the last size of x must equal the "
        "weight's",
        op, x.shape().text(), weight.shape().text());
}

/// The products of a linear map: each lays the weight out for itself.
struct OwnLayout {
  Tensor weight;
  void forward(const Tensor& x, Tensor& out, const GemmOptions& options) const {
    gemm(as_matrix(x), transposed(as_matrix(weight)), as_matrix(out), options);
  }
  void backward(const Tensor& dy, Tensor& dx) const {
    gemm(as_matrix(dy), as_matrix(weight), as_matrix(dx));
  }
};

/// The same by layouts that others use too.
struct SharedLayout {
  std::shared_ptr<const SharedWeight::Layouts> layouts;
  void forward(const Tensor& x, Tensor& out, const GemmOptions& options) const;
  void backward(const Tensor& dy, Tensor& dx) const;
};

/// dx = dy W   dW += dy^T x
template <class Layout>
void linear_backward(const Tensor& dy, const Tensor& x, const Layout& layout, GradientSink& into) {
  if (into.wants(0)) {
    Tensor dx(x.shape());
    layout.backward(dy, dx);
    into.add(0, dx);
  }
  into.add_product(1, dy, x);
}

template <class Layout>
Variable linear(const Variable& x, const Variable& weight, const Variable& bias, Layout layout) {
  check_linear("linear", x, weight);
  if (bias.defined() && bias.shape() != Shape{weight.size(0)})
    fail("[linear] bias {} must be ({}), one for each row of weight {}", bias.shape().text(),
         weight.size(0), weight.shape().text());
  Tensor out(with_columns(x.shape(), weight.size(0)));
  layout.forward(x.value(), out, {.bias = bias.defined() ? bias.value().data() : nullptr});
  std::vector<Variable> inputs{x, weight};
  if (bias.defined()) inputs.push_back(bias);
  return GraphBuilder("linear", std::move(inputs))
      .result(out, [x = x.value(), layout = std::move(layout), has_bias = bias.defined()](
                       OutputGradients g, GradientSink& into) {
        linear_backward(g[0], x, layout, into);
        if (has_bias && into.wants(2))
          add_column_sums(g[0].data(), g[0].shape().rows(), g[0].shape().columns(),
                          into.accumulated(2).data());
      });
}

template <class Layout>
Variable linear_add(const Variable& x, const Variable& weight, const Variable& base,
                    Layout layout) {
  check_linear("linear_add", x, weight);
  Shape shape = with_columns(x.shape(), weight.size(0));
  if (base.shape() != shape)
    fail("[linear_add] base {} must be {}, the shape of the product", base.shape().text(),
         shape.text());
  Tensor out = base.value().clone();
  layout.forward(x.value(), out, {.accumulate = true});
  return GraphBuilder("linear_add", {x, weight, base})
      .result(out,
              [x = x.value(), layout = std::move(layout)](OutputGradients g, GradientSink& into) {
                linear_backward(g[0], x, layout, into);
                into.add(2, g[0]);
              });
}

}  // namespace

/// Each is made by the first product that needs it: backward's is not where nothing is recorded. Several
/// threads may walk one graph.
struct SharedWeight::Layouts {
  explicit Layouts(const Tensor& weight) : weight_(weight) {}

  const PackedMatrix& forward() const {
    std::call_once(forward_once_, [&] { forward_ = PackedMatrix(transposed(as_matrix(weight_))); });
    return forward_;
  }
  const PackedMatrix& backward() const {
    std::call_once(backward_once_, [&] { backward_ = PackedMatrix(as_matrix(weight_)); });
    return backward_;
  }

 private:
  const Tensor weight_;
  mutable std::once_flag forward_once_, backward_once_;
  mutable PackedMatrix forward_, backward_;
};

namespace {

void SharedLayout::forward(const Tensor& x, Tensor& out, const GemmOptions& options) const {
  gemm(as_matrix(x), layouts->forward(), as_matrix(out), options);
}

void SharedLayout::backward(const Tensor& dy, Tensor& dx) const {
  gemm(as_matrix(dy), layouts->backward(), as_matrix(dx));
}

}  // namespace

SharedWeight::SharedWeight(const Variable& weight) : weight_(weight) {
  if (weight.rank() != 2)
    fail("[shared_weight] a weight is (outputs, inputs), not {}", weight.shape().text());
  layouts_ = std::make_shared<const Layouts>(weight.value());
}

namespace {
thread_local KeptLayouts* kept_layouts = nullptr;
}  // namespace

KeptLayouts::KeptLayouts(std::vector<Tensor> weights)
    : weights_(std::move(weights)), before_(kept_layouts) {
  kept_layouts = this;
}

KeptLayouts::~KeptLayouts() {
  kept_layouts = before_;
}

KeptLayouts* KeptLayouts::current() {
  return kept_layouts;
}

const SharedWeight* KeptLayouts::of(const Variable& weight) {
  const Tensor& wanted = weight.value();
  for (const SharedWeight& one : layouts_)
    if (one.weight().value().data() == wanted.data() && one.weight().shape() == wanted.shape())
      return &one;
  // What is no part of a weight may be gone after this product, and another stand where it stood.
  for (const Tensor& one : weights_)
    if (wanted.rank() == 2 && one.shares_buffer(wanted))
      return &layouts_.emplace_back(weight.detach());
  return nullptr;
}

Variable linear(const Variable& x, const Variable& weight, const Variable& bias) {
  if (const auto& rows = x.gathered()) {
    check_linear("linear", x, weight);
    auto mapped = std::make_shared<Gathered>(*rows);
    mapped->table = linear(rows->table, weight, bias);
    return gather(std::move(mapped), with_columns(x.shape(), weight.size(0)));
  }
  if (KeptLayouts* kept = KeptLayouts::current(); kept && !recording())
    if (const SharedWeight* shared = kept->of(weight)) return linear(x, *shared, bias);
  return linear(x, weight, bias, OwnLayout{weight.value()});
}

Variable linear(const Variable& x, const SharedWeight& weight, const Variable& bias) {
  return linear(x, weight.weight(), bias, SharedLayout{weight.layouts()});
}

Variable linear_add(const Variable& x, const Variable& weight, const Variable& base) {
  return linear_add(x, weight, base, OwnLayout{weight.value()});
}

Variable linear_add(const Variable& x, const SharedWeight& weight, const Variable& base) {
  return linear_add(x, weight.weight(), base, SharedLayout{weight.layouts()});
}

namespace {

/// How many matrices a tensor of (..., M, N) holds: none of M and N counts, for both may be 0.
int64_t matrices(const Tensor& x) {
  int64_t count = 1;
  for (int i = 0; i + 2 < x.rank(); ++i) count *= x.size(i);
  return count;
}

/// Matrix i of a batch.
MatrixView part(const Tensor& x, int64_t i) {
  int64_t rows = x.size(-2), columns = x.size(-1);
  return matrix(x.data() + i * rows * columns, rows, columns);
}

MutableMatrix part(Tensor& x, int64_t i) {
  int64_t rows = x.size(-2), columns = x.size(-1);
  return mutable_matrix(x.data() + i * rows * columns, rows, columns);
}

Variable flat_matmul(const Variable& a, const Variable& b) {
  Tensor out(with_columns(a.shape(), b.size(1)));
  gemm(as_matrix(a.value()), as_matrix(b.value()), as_matrix(out));
  return GraphBuilder("matmul", {a, b})
      .result(out, [a = a.value(), b = b.value()](OutputGradients g, GradientSink& into) {
        if (into.wants(0)) {
          Tensor da(a.shape());
          gemm(as_matrix(g[0]), transposed(as_matrix(b)), as_matrix(da));
          into.add(0, da);
        }
        into.add_product(1, a, g[0]);
      });
}

}  // namespace

Variable matmul(const Variable& a, const Variable& b) {
  auto misfit = [&] {
    fail("[matmul] {} x {} do not fit: (..., M, K) x (..., K, N) or (..., K) x (K, N)",
         a.shape().text(), b.shape().text());
  };
  if (a.rank() < 1 || b.rank() < 2) misfit();
  if (a.size(-1) != b.size(-2))
    fail("[matmul] inner sizes differ: {} x {}; {} must equal {}", a.shape().text(),
         b.shape().text(), a.size(-1), b.size(-2));
  if (b.rank() == 2) return flat_matmul(a, b);
  if (a.rank() != b.rank()) misfit();
  for (int i = 0; i + 2 < a.rank(); ++i)
    if (a.size(i) != b.size(i)) misfit();

  Tensor out(with_columns(a.shape(), b.size(-1)));
  for (int64_t i = 0; i < matrices(out); ++i)
    gemm(part(a.value(), i), part(b.value(), i), part(out, i));
  return GraphBuilder("matmul", {a, b})
      .result(out, [a = a.value(), b = b.value()](OutputGradients g, GradientSink& into) {
        Tensor da, db;
        if (into.wants(0)) da = Tensor(a.shape());
        if (into.wants(1)) db = Tensor(b.shape());
        for (int64_t i = 0; i < matrices(g[0]); ++i) {
          if (da.defined()) gemm(part(g[0], i), transposed(part(b, i)), part(da, i));
          if (db.defined()) gemm(transposed(part(a, i)), part(g[0], i), part(db, i));
        }
        if (da.defined()) into.add(0, da);
        if (db.defined()) into.add(1, db);
      });
}

}  // namespace lookback
