#include <algorithm>

#include "autograd/ops/attention_problem.h"
#include "core/kernels/softmax.h"
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
  if (!copy.defined()) copy = Tensor({std::min(block_rows(p), p.T), p.S});
  for (int64_t r = 0; r < weights.rows; ++r) {
    Real* row = copy.data() + r * p.S;
    std::copy_n(weights.data + r * weights.stride, weights.columns, row);
    Random random = p.draws(b, h, t + r);
    drop_row(p.dropout, random, row, weights.columns);
  }
  return {copy.data(), weights.rows, weights.columns, p.S};
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

/// How far apart rows of `length` may stand: one line of the cache more where they would stand a multiple of
/// 1 KiB apart, for then the product that reads columns finds all of them on the same few places of it.
int64_t row_apart(int64_t length) {
  constexpr int64_t kApart = 1024 / sizeof(Real), kLine = 64 / sizeof(Real);
  return length % kApart == 0 ? length + kLine : length;
}

/// What a group's heads share in backward.
struct GroupBackward {
  GroupKeys group;
  GroupMatrix keys, values;

  GroupBackward(const AttentionProblem& p, int64_t b, int64_t kv, const Tensor& of_context)
      : group(p.group_keys(b, kv, of_context)),
        keys(group.keys, false, p.T > block_rows(p) && group.finite),
        values(group.values, true, p.T > block_rows(p) && group.finite) {}
};

/// Backward of one block of queries; `d` has room for its scores' gradient.
void backward_block(const AttentionProblem& p, const AttentionGradients& g, const GroupBackward& of,
                    int64_t b, int64_t h, int64_t t, AttentionProblem::Block block,
                    const Real* weights, const MutableMatrix& d, Tensor& copy) {
  const GroupKeys& group = of.group;
  int64_t kv = h / p.group();
  MatrixView rows{weights, block.rows, block.keys, p.S};
  MatrixView of_context = p.context_rows(g.of_context, b, h, t, block.rows);
  const MatrixView used = dropped(p, b, h, t, rows, copy);
  if (g.values)
    add_transposed_product(used, of_context, {g.values + p.v.at(b, kv), block.keys, p.V, p.v.row});
  if (!g.query && !g.keys && !g.scores) return;
  // d = (g V^T, dropped likewise, + what reaches the weights), through softmax and scale
  of.values.multiply(of_context, 0, d);
  for (int64_t r = 0; r < block.rows; ++r) {
    Real* row = d.data + r * d.stride;
    int64_t seen = p.seen(group, t + r);
    if (p.dropout > 0) drop_alike(p.dropout, used.data + r * p.S, row, seen);
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
  if (g.keys)
    add_transposed_product(ready, p.queries(b, h, t, block.rows),
                           {g.keys + p.k.at(b, kv), block.keys, p.K, p.k.row});
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
      GroupBackward of(p, b, kv, g.of_context);
      for (int64_t h = kv * p.group(); h < (kv + 1) * p.group(); ++h)
        over_blocks(p, of.group, [&](int64_t t, AttentionProblem::Block block) {
          int64_t row = ((b * p.H + h) * p.T + t) * p.S;
          backward_block(p, g, of, b, h, t, block, weights.data() + row,
                         g.scores ? MutableMatrix{g.scores + row, block.rows, block.keys, p.S}
                                  : MutableMatrix{d.data(), block.rows, block.keys, row_apart(p.S)},
                         copy);
        });
    }
  });
}

}  // namespace lookback
