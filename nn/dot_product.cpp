#include "nn/dot_product.h"

namespace lookback {

Attended DotProductAttention::attend_all(const Variable& queries, const Keys& keys) const {
  auto one_head = [](const Variable& x) { return heads(x, 1, x.size(-1)); };
  Attended out = dot_product_attention(one_head(project(queries)), one_head(keys.projected),
                                       one_head(keys.values),
                                       {.scale = scale_, .mask = keys.mask, .weights = true});
  const Variable& w = out.weights;
  return {out.context, reshape(w, {w.size(0), w.size(2), w.size(3)})};
}

Attended DotProductAttention::attend(const Variable& query, const Keys& keys) const {
  Attended out = attend_all(reshape(query, {query.size(0), 1, query.size(1)}), keys);
  return {reshape(out.context, {query.size(0), out.context.size(-1)}),
          reshape(out.weights, {query.size(0), out.weights.size(-1)})};
}

}  // namespace lookback
