#include <algorithm>

#include "autograd/ops/attention_problem.h"
#include "core/kernels/softmax.h"
#include "core/kernels/transpose.h"
#include "core/kernels/vector.h"

namespace lookback {
namespace {

// Queries at a time; backward holds the gradient of one block's scores. Under causality a block's keys end
// at its last query, so that smaller blocks leave out more of the future; still smaller ones than these lose
// more by adding into the keys' gradients more often (at T = 1,024).
constexpr int64_t kCausalRows = 128, kRows = 256;

int64_t block_rows(const AttentionProblem& p) {
  return p.mask.is_causal() ? kCausalRows : kRows;
}

/// scores -> weights, in place; zero where nothing may be seen.
void softmax_row(const AttentionProblem& p, const GroupKeys& group, int64_t t, Real* row) {
  int64_t seen = p.seen(group, t);
  if (group.holes) {
    for (int64_t s = 0; s < seen; ++s) row[s] *= p.scale;
    kernels::softmax(row, group.holes, row, seen);
  } else if (seen > 0) {
    kernels::scaled_softmax(p.scale, row, seen);
  }
  std::fill(row + seen, row + p.S, Real{0});
}

/// A block's weights as the context uses them: after dropout, in a copy.
MatrixView dropped(const AttentionProblem& p, int64_t b, int64_t h, int64_t t,
                   const MatrixView& weights, Tensor& copy) {
  if (p.dropout == 0) return weights;
  if (!copy.defined()) copy = Tensor({std::min(block_rows(p), p.T), row_apart(p.S)});
  for (int64_t r = 0; r < weights.rows; ++r) {
    Real* row = copy.data() + r * copy.size(1);
    std::copy_n(weights.data + r * weights.stride, weights.columns, row);
    Random random = p.draws(b, h, t + r);
    drop_row(p.dropout, random, row, weights.columns);
  }
  return {copy.data(), weights.rows, weights.columns, copy.size(1)};
}

/// All queries of one head, block by block.
template <class Body>
void over_blocks(const AttentionProblem& p, const GroupKeys& group, Body&& body) {
  for (int64_t t = 0; t < p.T;) {
    AttentionProblem::Block block = p.block(group, t, block_rows(p));
    body(t, block);
    t += block.rows;
  }
}

}  // namespace

void materialised_forward(const AttentionProblem& p, Tensor& context, Tensor& weights) {
  over_pieces(p.B * p.H, p.grain(p.T), [&](int64_t begin, int64_t end) {
    Tensor copy, passing;  // weights that nobody asked to keep
    if (!weights.defined()) passing = Tensor({std::min(block_rows(p), p.T), p.S});
    ForwardGroup of;
    for (int64_t i = begin; i < end; ++i) {
      int64_t b = i / p.H, h = i % p.H;
      if (i == begin || h % p.group() == 0)
        of = ForwardGroup(p, b, h / p.group(), p.T > block_rows(p));
      over_blocks(p, of.group, [&](int64_t t, AttentionProblem::Block block) {
        Real* rows = weights.defined() ? weights.data() + (i * p.T + t) * p.S : passing.data();
        of.keys.multiply(p.queries(b, h, t, block.rows), 0, {rows, block.rows, block.keys, p.S});
        for (int64_t r = 0; r < block.rows; ++r) softmax_row(p, of.group, t + r, rows + r * p.S);
        of.values.multiply(dropped(p, b, h, t, {rows, block.rows, block.keys, p.S}, copy), 0,
                           p.context_rows(context, b, h, t, block.rows));
      });
    }
  });
}

namespace {

/// The gradient of a group's keys, or of its values, as it is added up over blocks of queries:
///     to (visible, K) += sum_blocks A^T B,   A (rows, keys) weights or scores' gradients, B (rows, K)
/// Where there are `several` blocks, B^T A is added up instead, and turned at the end. A is the large one, and as
/// the left operand it would be copied for every block; on the right it is read as it lies, or nearly so
/// (core/kernels/panels.cpp, products of one block of rows).
class GroupGradient {
 public:
  GroupGradient() = default;
  /// to.data null: not wanted.
  GroupGradient(const MutableMatrix& to, bool several) : to_(to) {
    if (to.data && several) turned_ = Tensor({to.columns, row_apart(to.rows)});
  }

  /// Adds to the first rows, as many as A has columns.
  void add(const MatrixView& a, const MatrixView& b) {
    if (!to_.data) return;
    if (!turned_.defined()) {
      add_transposed_product(a, b, to_);
      return;
    }
    const int64_t apart = turned_.size(1);
    const bool fresh = filled_ == 0;
    // Under causality later blocks see more keys: those begin at 0.
    for (int64_t k = 0; k < to_.columns && !fresh && filled_ < a.columns; ++k)
      std::fill_n(turned_.data() + k * apart + filled_, a.columns - filled_, Real{0});
    gemm(transposed(b), a, {turned_.data(), to_.columns, a.columns, apart}, {.accumulate = !fresh});
    filled_ = std::max(filled_, a.columns);
  }

  void finish() {
    if (turned_.defined())
      kernels::add_transposed(turned_.data(), turned_.size(1), to_.columns, filled_, to_.data,
                              to_.stride);
  }

 private:
  MutableMatrix to_{};
  Tensor turned_;       // the sum of B^T A; undefined where not used
  int64_t filled_ = 0;  // its columns that hold a sum
};

/// What a group's heads share in backward.
struct GroupBackward {
  GroupKeys group;
  GroupMatrix keys, values;
  GroupGradient of_keys, of_values;

  GroupBackward(const AttentionProblem& p, int64_t b, int64_t kv, const AttentionGradients& g)
      : group(p.group_keys(b, kv, g.of_context)) {
    const bool several = p.T > block_rows(p) && group.finite;
    keys = GroupMatrix(group.keys, false, several);
    values = GroupMatrix(group.values, true, several);
    auto rows = [&](Real* all, const HeadView& view, int64_t columns) -> MutableMatrix {
      return {all ? all + view.at(b, kv) : nullptr, group.visible, columns, view.row};
    };
    of_keys = GroupGradient(rows(g.keys, p.k, p.K), several);
    of_values = GroupGradient(rows(g.values, p.v, p.V), several);
  }
};

/// Backward of one block of queries; `d` has room for its scores' gradient.
void backward_block(const AttentionProblem& p, const AttentionGradients& g, GroupBackward& of,
                    int64_t b, int64_t h, int64_t t, AttentionProblem::Block block,
                    const Real* weights, const MutableMatrix& d, Tensor& copy) {
  const GroupKeys& group = of.group;
  MatrixView rows{weights, block.rows, block.keys, p.S};
  MatrixView of_context = p.context_rows(g.of_context, b, h, t, block.rows);
  const MatrixView used = dropped(p, b, h, t, rows, copy);
  of.of_values.add(used, of_context);
  if (!g.query && !g.keys && !g.scores) return;
  // d = (g V^T, dropped likewise, + what reaches the weights), through softmax and scale
  of.values.multiply(of_context, 0, d);
  for (int64_t r = 0; r < block.rows; ++r) {
    Real* row = d.data + r * d.stride;
    int64_t seen = p.seen(group, t + r);
    if (p.dropout > 0) drop_alike(p.dropout, used.data + r * used.stride, row, seen);
    clear_holes(group, 0, seen, row);  // a value of zeros times a gradient that is no number
    if (g.of_weights.defined())
      add_weight_gradient(group, g.of_weights.data() + ((b * p.H + h) * p.T + t + r) * p.S, 0, seen,
                          row);
    const Real* weight = weights + r * p.S;
    kernels::softmax_gradient(weight, kernels::dot(weight, row, seen), p.scale, row, seen);
    clear_holes(group, 0, seen, row);
    std::fill(row + seen, row + (g.scores ? p.S : block.keys), Real{0});
  }
  MatrixView ready{d.data, d.rows, d.columns, d.stride};
  if (g.query)
    of.keys.multiply(ready, 0, {g.query + p.q.at(b, h) + t * p.q.row, block.rows, p.K, p.q.row},
                     true);
  of.of_keys.add(ready, p.queries(b, h, t, block.rows));
}

}  // namespace

void materialised_backward(const AttentionProblem& p, const Tensor& weights,
                           const AttentionGradients& g) {
  // The heads of a group add into the same keys, one after the other.
  int64_t together = g.groups_together(p), units = p.B * p.G / together;
  over_pieces(units, p.grain(p.T * p.group() * together), [&](int64_t begin, int64_t end) {
    Tensor copy, d({std::min(block_rows(p), p.T), row_apart(p.S)});
    for (int64_t i = begin * together; i < end * together; ++i) {
      int64_t b = i / p.G, kv = i % p.G;
      GroupBackward of(p, b, kv, g);
      for (int64_t h = kv * p.group(); h < (kv + 1) * p.group(); ++h)
        over_blocks(p, of.group, [&](int64_t t, AttentionProblem::Block block) {
          const int64_t row = (b * p.H + h) * p.T + t;
          backward_block(p, g, of, b, h, t, block, weights.data() + row * p.S,
                         g.scores ? MutableMatrix{g.scores + row * p.S, block.rows, block.keys, p.S}
                                  : MutableMatrix{d.data(), block.rows, block.keys, d.size(1)},
                         copy);
        });
      of.of_keys.finish();
      of.of_values.finish();
    }
  });
}

}  // namespace lookback
