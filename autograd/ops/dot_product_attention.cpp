#include <cmath>

#include "autograd/node.h"
#include "autograd/ops.h"
#include "autograd/ops/attention_problem.h"
#include "core/error.h"
#include "core/kernels/vector.h"

namespace lookback {
namespace {

// Scores of one head (T x S) above which they are worked out block by block. Working them out twice takes
// longer (docs/performance.md has how much), so it must save memory that matters: more than 4 MiB a head.
constexpr int64_t kManyScores = int64_t{1024} * 1024;

std::string text(const Heads& h) {
  std::string shape = h.x.shape().text();
  return h.x.rank() == 4 ? shape : format("{} heads of {} in {}", h.count, h.size, shape);
}

AttentionProblem check(const Heads& query, const Heads& key, const Heads& value,
                       const DotProductOptions& o) {
  auto positions = [](const Heads& h) { return h.x.size(h.x.rank() == 4 ? 2 : 1); };
  auto refuse = [&](const std::string& what) {
    fail("[dot_product_attention] {}: queries {}, keys {}, values {}", what, text(query), text(key),
         text(value));
  };
  AttentionProblem p{.B = query.x.size(0),
                     .H = query.count,
                     .G = key.count,
                     .T = positions(query),
                     .S = positions(key),
                     .K = query.size,
                     .V = value.size,
                     .scale = static_cast<Real>(
                         o.scale ? *o.scale : 1 / std::sqrt(static_cast<double>(query.size))),
                     .mask = o.mask,
                     .dropout = o.dropout,
                     .key = o.key,
                     .query = query.x.value(),
                     .keys = key.x.value(),
                     .values = value.x.value(),
                     .q = view(query),
                     .k = view(key),
                     .v = view(value),
                     .context_shape = {},
                     .context = {},
                     .key_rows = {o.key_rows.begin(), o.key_rows.end()}};
  if (key.size != p.K) refuse(format("a key's head has {} units, a query's {}", key.size, p.K));
  if (value.count != p.G) refuse(format("{} heads of values for {} of keys", value.count, p.G));
  if (p.G < 1 || p.H % p.G != 0)
    refuse(format("{} heads of queries cannot share {} of keys: no multiple", p.H, p.G));
  int64_t memories = key.x.size(0);
  if (value.x.size(0) != memories || (p.key_rows.empty() && memories != p.B))
    refuse("different numbers of sentences");
  if (!p.key_rows.empty() && static_cast<int64_t>(p.key_rows.size()) != p.B)
    refuse(format("key_rows has {} rows", p.key_rows.size()));
  for (int64_t row : p.key_rows)
    if (row < 0 || row >= memories) refuse(format("key_rows names row {}", row));
  if (positions(value) != p.S) refuse(format("{} values for {} keys", positions(value), p.S));
  if (o.mask.defined() && (o.mask.rows() != memories || o.mask.columns() != p.S))
    refuse(format("the mask is ({}, {}), but must be (B, S) = ({}, {})", o.mask.rows(),
                  o.mask.columns(), memories, p.S));
  if (!(p.scale >= 0)) refuse(format("the scale must be at least 0, but is {}", p.scale));
  if (!(o.dropout >= 0 && o.dropout < 1))
    refuse(format("dropout must be in [0, 1), but is {}", o.dropout));
  p.context_shape = query.x.rank() == 4 ? Shape{p.B, p.H, p.T, p.V} : Shape{p.B, p.T, p.H * p.V};
  p.context = query.x.rank() == 4 ? HeadView{0, p.H * p.T * p.V, p.T * p.V, p.V}
                                  : HeadView{0, p.T * p.H * p.V, p.V, p.H * p.V};
  return p;
}

bool blockwise(const AttentionProblem& p, AttentionWay way) {
  return way == AttentionWay::kBlockwise || (way == AttentionWay::kAuto && p.T * p.S > kManyScores);
}

/// Where the gradients go. Queries, keys and values may be parts of one tensor; its gradient is then
/// one sum, and no tensor is made for a part.
AttentionGradients targets(const AttentionProblem& p, OutputGradients g, GradientSink& into) {
  AttentionGradients out{.of_context = g[0], .of_weights = g.size() > 1 ? g[1] : Tensor()};
  if (!out.of_context.defined()) out.of_context = Tensor::zeros(p.context_shape);
  if (into.wants(0)) out.query = into.accumulated(0).data();
  if (into.wants(1)) out.keys = into.accumulated(1).data();
  if (into.wants(2)) out.values = into.accumulated(2).data();
  return out;
}

/// Whether the gradients of keys and values may wait for those of other calls: one query a sentence, as a
/// decoder's step asks it, of one head as wide as its tensors. A query or gradient that is no number
/// would reach keys that it may not see (0 x NaN), so it is kept out.
bool may_wait(const AttentionProblem& p, OutputGradients g) {
  auto whole = [&](const Tensor& x, int64_t size) { return x.rank() == 3 && x.size(2) == size; };
  auto finite = [](const Tensor& x) {
    return kernels::all_finite(x.data(), 1, x.count(), x.count());
  };
  return p.T == 1 && p.H == 1 && p.dropout == 0 && whole(p.query, p.K) && whole(p.keys, p.K) &&
         whole(p.values, p.V) && g[0].defined() && finite(p.query) && finite(g[0]);
}

/// dK += dscores^T Q and dV += P^T dcontext, each with what other calls add.
void single_query_backward(const AttentionProblem& p, const Tensor& weights, OutputGradients g,
                           GradientSink& into) {
  Tensor scores({p.B, p.T, p.S});
  AttentionGradients to{.of_context = g[0], .of_weights = g.size() > 1 ? g[1] : Tensor()};
  if (into.wants(0)) to.query = into.accumulated(0).data();
  to.scores = scores.data();
  materialised_backward(p, weights, to);
  into.add_products(1, scores, p.query);
  into.add_products(2, weights.reshape(scores.shape()), g[0]);
}

}  // namespace

Heads heads(const Variable& x) {
  if (x.rank() != 4) fail("[heads] {} must be (B, heads, S, K)", x.shape().text());
  return {.x = x, .count = x.size(1), .size = x.size(3)};
}

Heads heads(const Variable& x, int64_t count, int64_t size, int64_t column) {
  if (x.rank() != 3 || count < 1 || size < 1 || column < 0 || column + count * size > x.size(2))
    fail("[heads] {} heads of {} columns from column {} do not fit {} of (B, S, W)", count, size,
         column, x.shape().text());
  return {.x = x, .count = count, .size = size, .column = column};
}

Attended dot_product_attention(const Heads& query, const Heads& key, const Heads& value,
                               const DotProductOptions& o) {
  AttentionProblem p = check(query, key, value, o);
  Tensor context(p.context_shape), weights, log_sums;
  GraphBuilder graph("dot_product_attention", {query.x, key.x, value.x});
  if (!p.key_rows.empty() && graph.records())
    fail("[dot_product_attention] key_rows have no backward; put a NoGrad around");
  if (blockwise(p, o.way)) {
    log_sums = Tensor({p.B, p.H, p.T});
    if (o.weights) weights = Tensor({p.B, p.H, p.T, p.S});
    blockwise_forward(p, context, log_sums, weights);
  } else {
    if (o.weights || graph.records()) weights = Tensor({p.B, p.H, p.T, p.S});
    materialised_forward(p, context, weights);
  }
  // Backward of the materialised way has no use for the context.
  auto backward = [p, weights, log_sums, context = log_sums.defined() ? context : Tensor()](
                      OutputGradients g, GradientSink& into) {
    if (!log_sums.defined() && may_wait(p, g)) {
      single_query_backward(p, weights, g, into);
      return;
    }
    AttentionGradients to = targets(p, g, into);
    if (log_sums.defined())
      blockwise_backward(p, context, log_sums, weights, to);
    else
      materialised_backward(p, weights, to);
  };
  std::vector<Tensor> results{context};
  if (o.weights) results.push_back(weights);
  std::vector<Variable> out = graph.results(std::move(results), std::move(backward));
  return {out[0], o.weights ? out[1] : Variable()};
}

}  // namespace lookback
