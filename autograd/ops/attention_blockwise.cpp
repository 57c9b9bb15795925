#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "autograd/ops/attention_problem.h"
#include "core/kernels/softmax.h"
#include "core/kernels/vector.h"
#include "core/threads.h"

// Scores exist for one block of queries and keys at a time. Forward runs through a query's keys once
// and carries the largest score m, l = sum e^(score - m), and the context times l, which are
// rescaled whenever m grows (Milakov and Gimelshein, 2018); backward has log l + m and so works out
// each weight again, e^(score - (m + log l)).

namespace lookback {
namespace {

constexpr int64_t kQueries = 128, kKeys = 192;
static_assert(kKeys % kPanelWidth == 0, "blocks of keys begin where a panel does");
constexpr Real kNothing = -std::numeric_limits<Real>::infinity();

/// e^(scale x - shift) over the keys of one block that the query may see, 0 at all others; the sum.
Real block_weights(const AttentionProblem& p, const GroupKeys& group, int64_t t, int64_t first,
                   int64_t keys, Real shift, Real* row) {
  int64_t seen = std::clamp<int64_t>(p.seen(group, t) - first, 0, keys);
  if (shift == kNothing) seen = 0;
  std::fill(row + seen, row + keys, Real{0});
  if (!group.holes) return kernels::exp_sum(row, p.scale, shift, row, seen);
  Real sum = 0;
  for (int64_t s = 0; s < seen; ++s)
    sum += row[s] = group.holes[first + s] ? std::exp(p.scale * row[s] - shift) : Real{0};
  return sum;
}

Real block_largest(const AttentionProblem& p, const GroupKeys& group, int64_t t, int64_t first,
                   int64_t keys, const Real* row) {
  int64_t seen = std::clamp<int64_t>(p.seen(group, t) - first, 0, keys);
  if (!group.holes) return p.scale * kernels::largest(row, seen);
  Real largest = kNothing;
  for (int64_t s = 0; s < seen; ++s)
    if (group.holes[first + s]) largest = std::max(largest, p.scale * row[s]);
  return largest;
}

std::vector<Random> block_draws(const AttentionProblem& p, int64_t b, int64_t h, int64_t t,
                                int64_t rows) {
  std::vector<Random> out;
  for (int64_t r = 0; r < rows && p.dropout > 0; ++r) out.push_back(p.draws(b, h, t + r));
  return out;
}

void forward_block(const AttentionProblem& p, const ForwardGroup& of, int64_t b, int64_t h,
                   int64_t t, AttentionProblem::Block block, Tensor& context, Real* log_sums,
                   Real* scores) {
  const GroupKeys& group = of.group;
  MutableMatrix out = p.context_rows(context, b, h, t, block.rows);
  for (int64_t r = 0; r < block.rows; ++r) std::fill_n(out.data + r * out.stride, p.V, Real{0});
  std::vector<Real> largest(static_cast<size_t>(block.rows), kNothing),
      sum(static_cast<size_t>(block.rows), 0);
  std::vector<Random> draws = block_draws(p, b, h, t, block.rows);
  MatrixView queries = p.queries(b, h, t, block.rows);
  for (int64_t first = 0; first < block.keys; first += kKeys) {
    int64_t keys = std::min(kKeys, block.keys - first);
    of.keys.multiply(queries, first, {scores, block.rows, keys, kKeys});
    for (int64_t r = 0; r < block.rows; ++r) {
      size_t at = static_cast<size_t>(r);
      Real* row = scores + r * kKeys;
      Real top = std::max(largest[at], block_largest(p, group, t + r, first, keys, row));
      Real shrink = largest[at] == kNothing ? Real{0} : std::exp(largest[at] - top);
      // Scores of minus infinity alone, or of NaN, have no largest to be measured by.
      Real shift = top == kNothing ? Real{0} : top;
      sum[at] = sum[at] * shrink + block_weights(p, group, t + r, first, keys, shift, row);
      if (shrink != 1)
        for (int64_t c = 0; c < p.V; ++c) out.data[r * out.stride + c] *= shrink;
      largest[at] = top;
      if (p.dropout > 0) drop_row(p.dropout, draws[at], row, keys);
    }
    of.values.multiply({scores, block.rows, keys, kKeys}, first, out, true);
  }
  for (int64_t r = 0; r < block.rows; ++r) {
    size_t at = static_cast<size_t>(r);
    if (!p.sees_any(group, t + r)) {
      log_sums[r] = kNothing;
      continue;
    }
    log_sums[r] =
        sum[at] > 0 ? largest[at] + std::log(sum[at]) : std::numeric_limits<Real>::quiet_NaN();
    for (int64_t c = 0; c < p.V; ++c) out.data[r * out.stride + c] /= sum[at];
  }
}

/// The weights that were asked for, from the scores once more; (rows, S) each.
void write_weights(const AttentionProblem& p, const ForwardGroup& of, int64_t b, int64_t h,
                   int64_t t, AttentionProblem::Block block, const Real* log_sums, Real* scores,
                   Real* weights) {
  for (int64_t first = 0; first < block.keys; first += kKeys) {
    int64_t keys = std::min(kKeys, block.keys - first);
    of.keys.multiply(p.queries(b, h, t, block.rows), first, {scores, block.rows, keys, kKeys});
    for (int64_t r = 0; r < block.rows; ++r) {
      block_weights(p, of.group, t + r, first, keys, log_sums[r], scores + r * kKeys);
      std::copy_n(scores + r * kKeys, keys, weights + r * p.S + first);
    }
  }
  for (int64_t r = 0; r < block.rows; ++r)
    std::fill(weights + r * p.S + block.keys, weights + (r + 1) * p.S, Real{0});
}

/// Laid out for all blocks of queries, which run side by side: a second copy of keys and values, linear in S,
/// for some 5% of the time.
std::vector<ForwardGroup> all_groups(const AttentionProblem& p) {
  std::vector<ForwardGroup> out(static_cast<size_t>(p.B * p.G));
  over_pieces(p.B * p.G, p.grain(1), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i)
      out[static_cast<size_t>(i)] = ForwardGroup(p, i / p.G, i % p.G, p.T > kQueries);
  });
  return out;
}

}  // namespace

void blockwise_forward(const AttentionProblem& p, Tensor& context, Tensor& log_sums,
                       Tensor& weights) {
  std::vector<ForwardGroup> groups = all_groups(p);
  int64_t blocks = (p.T + kQueries - 1) / kQueries;
  parallel_tasks(p.B * p.H * blocks, [&](int64_t i) {
    int64_t b = i / blocks / p.H, h = i / blocks % p.H;
    const ForwardGroup& of = groups[static_cast<size_t>(b * p.G + h / p.group())];
    Tensor scores({std::min(kQueries, p.T), kKeys});
    int64_t t = i % blocks * kQueries, end = std::min(p.T, t + kQueries);
    while (t < end) {
      AttentionProblem::Block block = p.block(of.group, t, end - t);
      Real* sums = log_sums.data() + (b * p.H + h) * p.T + t;
      forward_block(p, of, b, h, t, block, context, sums, scores.data());
      if (weights.defined())
        write_weights(p, of, b, h, t, block, sums, scores.data(),
                      weights.data() + ((b * p.H + h) * p.T + t) * p.S);
      t += block.rows;
    }
  });
}

namespace {

/// One sentence's group in backward: what its blocks share.
struct Backward {
  const AttentionProblem& p;
  const AttentionGradients& g;
  GroupKeys group;
  GroupMatrix keys, keys_transposed, values_transposed;
  int64_t b, kv;
  Tensor weights, dropped, d;  // (kQueries, kKeys) each

  void take(int64_t sentence, int64_t of_group) {
    b = sentence, kv = of_group;
    group = p.group_keys(b, kv, g.of_context);
    const bool several = p.T > kQueries && group.finite;
    keys = GroupMatrix(group.keys, false, several);
    keys_transposed = GroupMatrix(group.keys, true, several);
    values_transposed = GroupMatrix(group.values, true, several);
  }

  /// sum_s w_s dw_s of a query, w its weights: context . its gradient, for the context is the weighted
  /// sum; and the share of the weights themselves.
  Real inner(const Tensor& context, const Tensor& all_weights, int64_t h, int64_t t) const {
    Real sum = kernels::dot(p.context_rows(context, b, h, t, 1).data,
                            p.context_rows(g.of_context, b, h, t, 1).data, p.V);
    int64_t row = ((b * p.H + h) * p.T + t) * p.S;
    if (g.of_weights.defined())
      sum += weight_gradient_sum(group, g.of_weights.data() + row, all_weights.data() + row,
                                 p.seen(group, t));
    return sum;
  }

  /// What reaches a block of queries.
  void run(int64_t h, int64_t t, AttentionProblem::Block block, const Tensor& context,
           const Tensor& log_sums_of_all, const Tensor& all_weights) {
    const Real* log_sums = log_sums_of_all.data() + (b * p.H + h) * p.T + t;
    std::array<Real, kQueries> inner_of;
    for (int64_t r = 0; r < block.rows; ++r)
      inner_of[static_cast<size_t>(r)] = inner(context, all_weights, h, t + r);
    MatrixView queries = p.queries(b, h, t, block.rows);
    MatrixView of_context = p.context_rows(g.of_context, b, h, t, block.rows);
    std::vector<Random> draws = block_draws(p, b, h, t, block.rows);
    for (int64_t first = 0; first < block.keys; first += kKeys) {
      int64_t count = std::min(kKeys, block.keys - first);
      keys_transposed.multiply(queries, first, {weights.data(), block.rows, count, kKeys});
      values_transposed.multiply(of_context, first, {d.data(), block.rows, count, kKeys});
      for (int64_t r = 0; r < block.rows; ++r) {
        Real *weight = weights.data() + r * kKeys, *row = d.data() + r * kKeys;
        block_weights(p, group, t + r, first, count, log_sums[r], weight);
        if (p.dropout > 0) {
          Real* used = dropped.data() + r * kKeys;
          std::copy_n(weight, count, used);
          drop_row(p.dropout, draws[static_cast<size_t>(r)], used, count);
          drop_alike(p.dropout, used, row, count);
        }
        int64_t seen = std::clamp<int64_t>(p.seen(group, t + r) - first, 0, count);
        if (g.of_weights.defined())
          add_weight_gradient(group, g.of_weights.data() + ((b * p.H + h) * p.T + t + r) * p.S,
                              first, seen, row);
        kernels::softmax_gradient(weight, inner_of[static_cast<size_t>(r)], p.scale, row, seen);
        // What may not be seen has weight 0, but its product may be no number.
        clear_holes(group, first, seen, row);
        std::fill(row + seen, row + count, Real{0});
      }
      MatrixView used{p.dropout > 0 ? dropped.data() : weights.data(), block.rows, count, kKeys};
      MatrixView ready{d.data(), block.rows, count, kKeys};
      if (g.values)
        add_transposed_product(used, of_context,
                               {g.values + p.v.at(b, kv) + first * p.v.row, count, p.V, p.v.row});
      if (g.query)
        keys.multiply(ready, first,
                      {g.query + p.q.at(b, h) + t * p.q.row, block.rows, p.K, p.q.row}, true);
      if (g.keys)
        add_transposed_product(ready, queries,
                               {g.keys + p.k.at(b, kv) + first * p.k.row, count, p.K, p.k.row});
    }
  }
};

}  // namespace

void blockwise_backward(const AttentionProblem& p, const Tensor& context, const Tensor& log_sums,
                        const Tensor& weights, const AttentionGradients& g) {
  // The heads of a group add into the same keys, one after the other.
  int64_t together = g.groups_together(p);
  over_pieces(p.B * p.G, together, [&](int64_t begin, int64_t end) {
    Shape shape{std::min(kQueries, p.T), kKeys};
    Backward work{.p = p,
                  .g = g,
                  .group = {},
                  .keys = {},
                  .keys_transposed = {},
                  .values_transposed = {},
                  .b = 0,
                  .kv = 0,
                  .weights = Tensor(shape),
                  .dropped = p.dropout > 0 ? Tensor(shape) : Tensor(),
                  .d = Tensor(shape)};
    for (int64_t i = begin; i < end; ++i) {
      work.take(i / p.G, i % p.G);
      for (int64_t h = work.kv * p.group(); h < (work.kv + 1) * p.group(); ++h)
        for (int64_t t = 0; t < p.T;) {
          AttentionProblem::Block block = p.block(work.group, t, kQueries);
          work.run(h, t, block, context, log_sums, weights);
          t += block.rows;
        }
    }
  });
}

}  // namespace lookback
