#pragma once

#include <cmath>

#include "autograd/ops.h"

namespace lookback::testing {

/// (B, heads, S, K), each head repeated `times` times.
inline Variable apart(const Heads& h, int64_t times) {
  Variable x = h.x;
  if (x.rank() == 3)
    x = transpose(
        reshape(narrow(x, 2, h.column, h.count * h.size), {x.size(0), x.size(1), h.count, h.size}),
        1, 2);
  if (times == 1) return x;
  std::vector<Variable> all;
  for (int64_t i = 0; i < h.count * times; ++i) all.push_back(narrow(x, 1, i / times, 1));
  return concat(all, 1);
}

/// The mask of each query of each head, a row each.
inline Mask spread(const Mask& mask, int64_t batch, int64_t heads, int64_t queries, int64_t keys) {
  std::vector<uint8_t> allowed;
  for (int64_t b = 0; b < batch; ++b)
    for (int64_t i = 0; i < heads * queries; ++i)
      for (int64_t s = 0; s < keys; ++s)
        allowed.push_back(s < mask.visible(i % queries, queries, keys) &&
                          (!mask.defined() || mask.at(b, s)));
  return Mask(batch * heads * queries, keys, std::move(allowed));
}

/// Scaled dot-product attention (without dropout) out of simpler ops: what dot_product_attention()
/// is held to.
inline Attended composed_attention(const Heads& query, const Heads& key, const Heads& value,
                                   const DotProductOptions& o = {}) {
  Variable q = apart(query, 1), k = apart(key, query.count / key.count),
           v = apart(value, query.count / value.count);
  double scale = o.scale ? *o.scale : 1 / std::sqrt(static_cast<double>(query.size));
  Variable scores = lookback::scale(matmul(q, transpose(k, 2, 3)), static_cast<Real>(scale));
  Variable weights = softmax(scores, spread(o.mask, q.size(0), query.count, q.size(2), k.size(2)));
  Variable context = matmul(weights, v);
  if (query.x.rank() == 3)
    context = reshape(transpose(context, 1, 2), {q.size(0), q.size(2), query.count * value.size});
  return {context, o.weights ? weights : Variable()};
}

}  // namespace lookback::testing
