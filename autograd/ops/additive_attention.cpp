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
  for (int64_t j = 0; j < s.length; ++j) {
    d[j] = 0;
    if (!allowed[j]) continue;
    if (context_gradient) d[j] = kernels::dot(context_gradient, values + j * s.width, s.width);
    if (weight_gradient) d[j] += weight_gradient[j];
    inner += weights[j] * d[j];
  }
  for (int64_t j = 0; j < s.length; ++j) d[j] = allowed[j] ? weights[j] * (d[j] - inner) : Real{0};
}

/// (B, last) or (B, T, last), as the query is.
Shape like(const Variable& query, int64_t last) {
  Shape shape = query.shape();
  shape.set(-1, last);
  return shape;
}

}  // namespace

Attended additive_attention(const Variable& query, const Variable& keys, const Variable& v,
                            const Variable& values, const Mask& mask) {
  Sizes s = check(query, keys, v, values, mask);
  Tensor weights(like(query, s.length)), context(like(query, s.width));
  parallel_for(s.batch * s.queries, s.grain(1), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      int64_t b = i / s.queries;
      Real* row = weights.data() + i * s.length;
      kernels::additive_scores(query.value().data() + i * s.units,
                               keys.value().data() + b * s.length * s.units, v.value().data(),
                               mask.row(b), s.length, s.units, row);
      kernels::softmax(row, mask.row(b), row, s.length);
      Real* sum = context.data() + i * s.width;
      std::fill_n(sum, s.width, Real{0});
      for (int64_t j = 0; j < s.length; ++j)
        if (mask.at(b, j))
          kernels::add_scaled(row[j], values.value().data() + (b * s.length + j) * s.width, sum,
                              s.width);
    }
  });

  auto backward = [s, mask, weights, query = query.value(), keys = keys.value(), v = v.value(),
                   values = values.value()](OutputGradients g, GradientSink& into) {
    const Real* of_context = g[0].defined() ? g[0].data() : nullptr;
    const Real* of_weights = g[1].defined() ? g[1].data() : nullptr;
    // Sentences run side by side, so each has its own sum for v; they are added in order at the
    // end. The queries of a sentence go one after another into its keys' and values' gradients.
    Tensor dquery = Tensor::zeros(query.shape()), dv = Tensor::zeros({s.batch, s.units});
    Tensor ignored_keys;
    if (!into.wants(1)) ignored_keys = Tensor::zeros(keys.shape());
    Tensor& dkeys = into.wants(1) ? into.accumulated(1) : ignored_keys;
    Tensor* dvalues = into.wants(3) && of_context ? &into.accumulated(3) : nullptr;
    Tensor dscores({s.batch, s.length});
    auto one_query = [&](int64_t b, int64_t i) {
      const Real* row = weights.data() + i * s.length;
      Real* d = dscores.data() + b * s.length;
      const Real* context_gradient = of_context ? of_context + i * s.width : nullptr;
      score_gradients(s, row, context_gradient, of_weights ? of_weights + i * s.length : nullptr,
                      values.data() + b * s.length * s.width, mask.row(b), d);
      kernels::additive_scores_backward({.query = query.data() + i * s.units,
                                         .keys = keys.data() + b * s.length * s.units,
                                         .v = v.data(),
                                         .d = d,
                                         .length = s.length,
                                         .units = s.units,
                                         .dquery = dquery.data() + i * s.units,
                                         .dkeys = dkeys.data() + b * s.length * s.units,
                                         .dv = dv.data() + b * s.units});
      for (int64_t j = 0; dvalues && j < s.length; ++j)
        if (mask.at(b, j))
          kernels::add_scaled(row[j], context_gradient,
                              dvalues->data() + (b * s.length + j) * s.width, s.width);
    };
    parallel_for(s.batch, s.grain(s.queries), [&](int64_t begin, int64_t end) {
      for (int64_t b = begin; b < end; ++b)
        for (int64_t t = 0; t < s.queries; ++t) one_query(b, b * s.queries + t);
    });
    into.add(0, dquery);
    if (into.wants(2)) add_column_sums(dv.data(), s.batch, s.units, into.accumulated(2).data());
  };
  std::vector<Variable> out = GraphBuilder("additive_attention", {query, keys, v, values})
                                  .results({context, weights}, std::move(backward));
  return {out[0], out[1]};
}

}  // namespace lookback
