#include <algorithm>

#include "autograd/broadcast.h"
#include "autograd/node.h"
#include "autograd/ops.h"
#include "core/error.h"
#include "core/kernels/additive.h"
#include "core/kernels/softmax.h"
#include "core/kernels/vector.h"
#include "core/threads.h"

namespace lookback {
namespace {

struct Sizes {
  int64_t batch, queries, length, units, width;  // B, T, S, A, D

  /// Sentences with `queries` queries each that make a thread's while.
  int64_t grain(int64_t queries) const {
    return std::max<int64_t>(1, (1 << 13) / (queries * length * (units + width) + 1));
  }
};

Sizes check(const Variable& query, const Variable& keys, const Variable& v, const Variable& values,
            const Mask& mask) {
  auto refuse = [&](const char* what) {
    fail(
        "[additive_attention] {}: query {} must be (B, A) or (B, T, A), keys {} (B, S, A), v {} "
        "(A), values {} (B, S, D), mask ({}, {}) (B, S)",
        what, query.shape().text(), keys.shape().text(), v.shape().text(), values.shape().text(),
        mask.rows(), mask.columns());
  };
  if ((query.rank() != 2 && query.rank() != 3) || keys.rank() != 3 || v.rank() != 1 ||
      values.rank() != 3 || !mask.defined())
    refuse("wrong number of dimensions");
  if (mask.is_causal())
    refuse("a causal mask orders the keys of the query's own sentence, but these are another's");
  int64_t queries = query.rank() == 3 ? query.size(1) : 1;
  Sizes s{keys.size(0), queries, keys.size(1), keys.size(2), values.size(2)};
  if (query.size(0) != s.batch || query.size(-1) != s.units)
    refuse("the query does not fit the keys");
  if (v.size(0) != s.units) refuse("v does not fit the keys");
  if (values.size(0) != s.batch || values.size(1) != s.length)
    refuse("the values do not fit the keys");
  if (mask.rows() != s.batch || mask.columns() != s.length)
    refuse("the mask does not fit the keys");
  return s;
}

/// dw_j = g . h_j (+ what reaches the weights themselves), then through softmax: d_j = w_j (dw_j -
/// sum_k w_k dw_k).
void score_gradients(const Sizes& s, const Real* weights, const Real* context_gradient,
                     const Real* weight_gradient, const Real* values, const uint8_t* allowed,
                     Real* d) {
  Real inner = 0;
  if (context_gradient)
    kernels::dots(context_gradient, {values, s.width, s.length, s.width}, d);
  else
    std::fill_n(d, s.length, Real{0});
  for (int64_t j = 0; j < s.length; ++j) {
    if (!allowed[j]) continue;
    if (weight_gradient) d[j] += weight_gradient[j];
    inner += weights[j] * d[j];
  }
  for (int64_t j = 0; j < s.length; ++j) d[j] = allowed[j] ? weights[j] * (d[j] - inner) : Real{0};
}

/// e_ij of all queries i, by whichever form is the cheaper one that loses nothing.
struct Scores {
  Sizes s;
  Tensor query, keys, v;
  KeyExponentials of_keys;
  Tensor of_queries;                     // e^(2q), like the query
  std::vector<uint8_t> by_exponentials;  // (B T)

  Scores(const Sizes& sizes, const Tensor& query, const Tensor& keys, const Tensor& v,
         const KeyExponentials& exponentials)
      : s(sizes),
        query(query),
        keys(keys),
        v(v),
        of_keys(exponentials),
        by_exponentials(static_cast<size_t>(s.batch * s.queries), 0) {
    if (!of_keys.values.defined()) return;
    of_queries = Tensor(query.shape());
    for (int64_t i = 0; i < s.batch * s.queries; ++i)
      by_exponentials[static_cast<size_t>(i)] =
          of_keys.usable[static_cast<size_t>(i / s.queries)] &&
          kernels::additive_exponentials(query.data() + i * s.units,
                                         of_queries.data() + i * s.units, s.units);
  }

  /// Of query i to its own sentence's keys.
  void forward(int64_t i, const uint8_t* allowed, Real* out) const {
    int64_t first = i / s.queries * s.length * s.units;
    if (by_exponentials[static_cast<size_t>(i)])
      kernels::additive_scores_by_exponentials(of_queries.data() + i * s.units,
                                               of_keys.values.data() + first, v.data(), allowed,
                                               s.length, s.units, out);
    else
      kernels::additive_scores(query.data() + i * s.units, keys.data() + first, v.data(), allowed,
                               s.length, s.units, out);
  }

  void backward(int64_t i, const Real* d, Tensor& dquery, Tensor& dkeys, Tensor& dv) const {
    int64_t b = i / s.queries, first = b * s.length * s.units;
    bool exponentials = by_exponentials[static_cast<size_t>(i)];
    kernels::AdditiveBackward work{
        .query = (exponentials ? of_queries : query).data() + i * s.units,
        .keys = (exponentials ? of_keys.values : keys).data() + first,
        .v = v.data(),
        .d = d,
        .length = s.length,
        .units = s.units,
        .dquery = dquery.data() + i * s.units,
        .dkeys = dkeys.data() + first,
        .dv = dv.data() + b * s.units};
    exponentials ? kernels::additive_scores_by_exponentials_backward(work)
                 : kernels::additive_scores_backward(work);
  }
};

/// dh_j += sum_t w_tj dc_t
void add_value_gradients(const Sizes& s, const Mask& mask, const Tensor& weights,
                         const Tensor& of_context, GradientSink& into) {
  if (kernels::all_finite(of_context.data(), 1, of_context.count(), of_context.count())) {
    into.add_products(3, weights, of_context);
    return;
  }
  // What is no number must not reach the values that it may not see: 0 x NaN is NaN.
  if (!into.wants(3)) return;
  Tensor& dvalues = into.accumulated(3);
  for (int64_t i = 0; i < s.batch * s.queries; ++i)
    for (int64_t j = 0, b = i / s.queries; j < s.length; ++j)
      if (mask.at(b, j))
        kernels::add_scaled(weights.data()[i * s.length + j], of_context.data() + i * s.width,
                            dvalues.data() + (b * s.length + j) * s.width, s.width);
}

/// (B, last) or (B, T, last), as the query is.
Shape like(const Variable& query, int64_t last) {
  Shape shape = query.shape();
  shape.set(-1, last);
  return shape;
}

}  // namespace

KeyExponentials::KeyExponentials(const Variable& keys)
    : values(keys.shape()), usable(static_cast<size_t>(keys.size(0)), 0) {
  int64_t count = values.count() / std::max<int64_t>(keys.size(0), 1);
  parallel_for(keys.size(0), 1 + (1 << 14) / (count + 1), [&](int64_t begin, int64_t end) {
    for (int64_t b = begin; b < end; ++b)
      usable[static_cast<size_t>(b)] = kernels::additive_exponentials(
          keys.value().data() + b * count, values.data() + b * count, count);
  });
}

Attended additive_attention(const Variable& query, const Variable& keys, const Variable& v,
                            const Variable& values, const Mask& mask,
                            const KeyExponentials& exponentials) {
  Sizes s = check(query, keys, v, values, mask);
  if (exponentials.values.defined() && exponentials.values.shape() != keys.shape())
    fail("[additive_attention] exponentials of {} are not of keys {}",
         exponentials.values.shape().text(), keys.shape().text());
  Tensor weights(like(query, s.length)), context(like(query, s.width));
  Scores scores(s, query.value(), keys.value(), v.value(), exponentials);
  parallel_for(s.batch * s.queries, s.grain(1), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      int64_t b = i / s.queries;
      Real* row = weights.data() + i * s.length;
      scores.forward(i, mask.row(b), row);
      kernels::softmax(row, mask.row(b), row, s.length);
      Real* sum = context.data() + i * s.width;
      std::fill_n(sum, s.width, Real{0});
      kernels::add_weighted(
          row, {values.value().data() + b * s.length * s.width, s.width, s.length, s.width}, sum);
    }
  });

  auto backward = [s, mask, weights, scores = std::move(scores), values = values.value()](
                      OutputGradients g, GradientSink& into) {
    const Real* of_context = g[0].defined() ? g[0].data() : nullptr;
    const Real* of_weights = g[1].defined() ? g[1].data() : nullptr;
    // Sentences run side by side, so each has its own sum for v; they are added in order at the
    // end. The queries of a sentence go one after another into its keys' and values' gradients.
    Tensor dquery = Tensor::zeros(scores.query.shape()), dv = Tensor::zeros({s.batch, s.units});
    Tensor ignored_keys;
    if (!into.wants(1)) ignored_keys = Tensor::zeros(scores.keys.shape());
    Tensor& dkeys = into.wants(1) ? into.accumulated(1) : ignored_keys;
    Tensor dscores({s.batch, s.length});
    auto one_query = [&](int64_t b, int64_t i) {
      const Real* row = weights.data() + i * s.length;
      Real* d = dscores.data() + b * s.length;
      const Real* context_gradient = of_context ? of_context + i * s.width : nullptr;
      score_gradients(s, row, context_gradient, of_weights ? of_weights + i * s.length : nullptr,
                      values.data() + b * s.length * s.width, mask.row(b), d);
      scores.backward(i, d, dquery, dkeys, dv);
    };
    parallel_for(s.batch, s.grain(s.queries), [&](int64_t begin, int64_t end) {
      for (int64_t b = begin; b < end; ++b)
        for (int64_t t = 0; t < s.queries; ++t) one_query(b, b * s.queries + t);
    });
    into.add(0, dquery);
    if (of_context) add_value_gradients(s, mask, weights, g[0], into);
    if (into.wants(2)) add_column_sums(dv.data(), s.batch, s.units, into.accumulated(2).data());
  };
  std::vector<Variable> out = GraphBuilder("additive_attention", {query, keys, v, values})
                                  .results({context, weights}, std::move(backward));
  return {out[0], out[1]};
}

}  // namespace lookback
