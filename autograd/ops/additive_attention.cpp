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
  int64_t batch, length, units, width;  // B, S, A, D

  /// Sentences that make a thread's while.
  int64_t grain() const { return std::max<int64_t>(1, (1 << 13) / (length * (units + width) + 1)); }
};

Sizes check(const Variable& query, const Variable& keys, const Variable& v, const Variable& values,
            const Mask& mask) {
  auto refuse = [&](const char* what) {
    fail(
        "[additive_attention] {}: query {} must be (B, A), keys {} (B, S, A), v {} (A), values {} "
        "(B, S, D), "
        "mask ({}, {}) (B, S)",
        what, query.shape().text(), keys.shape().text(), v.shape().text(), values.shape().text(),
        mask.rows(), mask.columns());
  };
  if (query.rank() != 2 || keys.rank() != 3 || v.rank() != 1 || values.rank() != 3 ||
      !mask.defined())
    refuse("wrong number of dimensions");
  Sizes s{keys.size(0), keys.size(1), keys.size(2), values.size(2)};
  if (query.shape() != Shape{s.batch, s.units}) refuse("the query does not fit the keys");
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

}  // namespace

Attended additive_attention(const Variable& query, const Variable& keys, const Variable& v,
                            const Variable& values, const Mask& mask) {
  Sizes s = check(query, keys, v, values, mask);
  Tensor weights({s.batch, s.length}), context({s.batch, s.width});
  parallel_for(s.batch, s.grain(), [&](int64_t begin, int64_t end) {
    for (int64_t b = begin; b < end; ++b) {
      Real* row = weights.data() + b * s.length;
      kernels::additive_scores(query.value().data() + b * s.units,
                               keys.value().data() + b * s.length * s.units, v.value().data(),
                               mask.row(b), s.length, s.units, row);
      kernels::softmax(row, mask.row(b), row, s.length);
      Real* sum = context.data() + b * s.width;
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
    // end.
    Tensor dquery = Tensor::zeros(query.shape()), dv = Tensor::zeros({s.batch, s.units});
    Tensor ignored_keys;
    if (!into.wants(1)) ignored_keys = Tensor::zeros(keys.shape());
    Tensor& dkeys = into.wants(1) ? into.accumulated(1) : ignored_keys;
    Tensor* dvalues = into.wants(3) && of_context ? &into.accumulated(3) : nullptr;
    Tensor dscores({s.batch, s.length});
    parallel_for(s.batch, s.grain(), [&](int64_t begin, int64_t end) {
      for (int64_t b = begin; b < end; ++b) {
        const Real* row = weights.data() + b * s.length;
        Real* d = dscores.data() + b * s.length;
        const Real* context_gradient = of_context ? of_context + b * s.width : nullptr;
        score_gradients(s, row, context_gradient, of_weights ? of_weights + b * s.length : nullptr,
                        values.data() + b * s.length * s.width, mask.row(b), d);
        kernels::additive_scores_backward({.query = query.data() + b * s.units,
                                           .keys = keys.data() + b * s.length * s.units,
                                           .v = v.data(),
                                           .d = d,
                                           .length = s.length,
                                           .units = s.units,
                                           .dquery = dquery.data() + b * s.units,
                                           .dkeys = dkeys.data() + b * s.length * s.units,
                                           .dv = dv.data() + b * s.units});
        for (int64_t j = 0; dvalues && j < s.length; ++j)
          if (mask.at(b, j))
            kernels::add_scaled(row[j], context_gradient,
                                dvalues->data() + (b * s.length + j) * s.width, s.width);
      }
    });
    into.add(0, dquery);
    if (into.wants(2)) add_column_sums(dv.data(), s.batch, s.units, into.accumulated(2).data());
  };
  std::vector<Variable> out = GraphBuilder("additive_attention", {query, keys, v, values})
                                  .results({context, weights}, std::move(backward));
  return {out[0], out[1]};
}

}  // namespace lookback
