#include "nn/additive.h"

#include <cmath>

namespace lookback {
namespace {

struct Laid : Attention::Shared {
  SharedWeight query;
  KeyExponentials exponentials;

  Laid(const Variable& query, const Variable& keys) : query(query), exponentials(keys) {}
};

}  // namespace

void AdditiveAttention::make_v(int64_t units) {
  v_ = parameter("v", {units}, uniform(1 / std::sqrt(static_cast<double>(units))));
}

Attention::Keys AdditiveAttention::share(const Keys& keys) const {
  Keys out = keys;
  out.shared = std::make_shared<const Laid>(query_weight(), keys.projected);
  return out;
}

Attended AdditiveAttention::attend_all(const Variable& queries, const Keys& keys) const {
  const auto* laid = dynamic_cast<const Laid*>(keys.shared.get());
  Variable projected = laid ? linear(queries, laid->query) : linear(queries, query_weight());
  return additive_attention(projected, keys.projected, v_, keys.values, keys.mask,
                            laid ? laid->exponentials : KeyExponentials());
}

Attended AdditiveAttention::attend(const Variable& query, const Keys& keys) const {
  return attend_all(query, keys);  // neither op minds how many queries there are
}

}  // namespace lookback
