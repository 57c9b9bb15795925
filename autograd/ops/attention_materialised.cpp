#include <algorithm>

#include "autograd/ops/attention_problem.h"
#include "core/kernels/softmax.h"
#include "core/kernels/vector.h"
#include "core/threads.h"

namespace lookback {
namespace {

// Queries at a time. Under causality a block's keys end at its last query, so that small blocks
// leave out more of the future; backward holds the gradient of one block's scores.
constexpr int64_t kCausalRows = 64, kRows = 256;

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
    Real sum = kernels::exp_sum(row, p.scale, p.scale * kernels::largest(row, seen), row, seen);
    for (int64_t s = 0; s < seen; ++s) row[s] /= sum;
  }
  std::fill(row + seen, row + p.S, Real{0});
}

/// A block's weights as the context uses them: after dropout, in a copy.
MatrixView dropped(const AttentionProblem& p, int64_t b, int64_t h, int64_t t,
                   const MatrixView& weights, Tensor& copy) {
  if (p.dropout == 0) return weights;
  if (!copy.defined()) copy = Tensor({block_rows(p), p.S});
  for (int64_t r = 0; r < weights.rows; ++r) {
    Real* row = copy.data() + r * p.S;
    std::copy_n(weights.data + r * weights.stride, weights.columns, row);
    Random random = p.draws(b, h, t + r);
    drop_row(p.dropout, random, row, weights.columns);
  }
  return {copy.data(), weights.rows, weights.columns, p.S};
}

/// One sentence and group: all its heads, block by block of queries.
template <class Body>
void over_blocks(const AttentionProblem& p, int64_t b, int64_t g, Body&& body) {
  GroupKeys group = p.group_keys(b, g);
  for (int64_t h = g * p.group(); h < (g + 1) * p.group(); ++h)
    for (int64_t t = 0; t < p.T;) {
      AttentionProblem::Block block = p.block(group, t, block_rows(p));
      body(group, h, t, block);
      t += block.rows;
    }
}

}  // namespace

void materialised_forward(const AttentionProblem& p, Tensor& context, Tensor& weights) {
  parallel_for(p.B * p.G, p.grain(p.T * p.group()), [&](int64_t begin, int64_t end) {
    Tensor copy;
    for (int64_t i = begin; i < end; ++i)
      over_blocks(p, i / p.G, i % p.G,
                  [&](const GroupKeys& group, int64_t h, int64_t t, auto block) {
                    int64_t b = i / p.G;
                    Real* rows = weights.data() + ((b * p.H + h) * p.T + t) * p.S;
                    multiply_transposed(p.queries(b, h, t, block.rows), group.keys, block.keys,
                                        {rows, block.rows, block.keys, p.S});
                    for (int64_t r = 0; r < block.rows; ++r)
                      softmax_row(p, group, t + r, rows + r * p.S);
                    multiply(dropped(p, b, h, t, {rows, block.rows, block.keys, p.S}, copy),
                             group.values, p.context_rows(context, b, h, t, block.rows), false);
                  });
  });
}

void materialised_backward(const AttentionProblem& p, const Tensor& weights,
                           const AttentionGradients& g) {
  parallel_for(p.B * p.G, p.grain(p.T * p.group()), [&](int64_t begin, int64_t end) {
    Tensor copy, scores({std::min(block_rows(p), p.T), p.S});
    for (int64_t i = begin; i < end; ++i)
      over_blocks(
          p, i / p.G, i % p.G, [&](const GroupKeys& group, int64_t h, int64_t t, auto block) {
            int64_t b = i / p.G, kv = i % p.G;
            int64_t first = ((b * p.H + h) * p.T + t) * p.S;
            MatrixView rows{weights.data() + first, block.rows, block.keys, p.S};
            MatrixView of_context = p.context_rows(g.of_context, b, h, t, block.rows);
            if (g.values)
              add_transposed_product(dropped(p, b, h, t, rows, copy), of_context,
                                     {g.values + p.v.at(b, kv), block.keys, p.V, p.v.row});
            if (!g.query && !g.keys) return;
            // d = (g V^T, dropped likewise, + what reaches the weights), through softmax and scale
            MutableMatrix d{scores.data(), block.rows, block.keys, p.S};
            multiply_transposed(of_context, group.values, block.keys, d);
            for (int64_t r = 0; r < block.rows; ++r) {
              Real* row = d.data + r * p.S;
              const Real* weight = rows.data + r * p.S;
              int64_t seen = p.seen(group, t + r);
              if (p.dropout > 0) {
                Random random = p.draws(b, h, t + r);
                drop_row(p.dropout, random, row, seen);
              }
              if (group.holes)  // the product with a value of zeros is no number where g is none
                for (int64_t s = 0; s < seen; ++s)
                  if (!group.holes[s]) row[s] = 0;
              if (g.of_weights.defined())
                for (int64_t s = 0; s < seen; ++s)
                  row[s] += g.of_weights.data()[first + r * p.S + s];
              Real inner = kernels::dot(weight, row, seen);
              for (int64_t s = 0; s < seen; ++s) row[s] = p.scale * weight[s] * (row[s] - inner);
              std::fill(row + seen, row + block.keys, Real{0});
            }
            MatrixView ready{d.data, block.rows, block.keys, p.S};
            if (g.query)
              multiply(ready, group.keys,
                       {g.query + p.q.at(b, h) + t * p.q.row, block.rows, p.K, p.q.row}, true);
            if (g.keys)
              add_transposed_product(ready, p.queries(b, h, t, block.rows),
                                     {g.keys + p.k.at(b, kv), block.keys, p.K, p.k.row});
          });
  });
}

}  // namespace lookback
