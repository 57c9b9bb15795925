#include "nn/attention.h"

#include "nn/bahdanau.h"
#include "nn/luong.h"
#include "nn/scaled_dot.h"

namespace lookback {

Attended Attention::attend_all(const Variable& queries, const Keys& keys) const {
  std::vector<Variable> contexts, weights;
  for (const Variable& query : unbind(queries, 1)) {
    Attended one = attend(query, keys);
    contexts.push_back(one.context);
    weights.push_back(one.weights);
  }
  return {stack(contexts, 1), stack(weights, 1)};
}

Registry<AttentionFactory>& attentions() {
  static Registry<AttentionFactory> registry = [] {
    Registry<AttentionFactory> r("attention");
    r.add("bahdanau", "additive score, v . tanh(W_s s + W_h h) (Bahdanau et al., 2015)",
          [](Section& section, const Attention::Sizes& sizes) -> AttentionMaker {
            BahdanauAttention::Options options;
            read(section, options);
            return [=] { return std::make_unique<BahdanauAttention>(options, sizes); };
          });
    r.add("luong", "score dot, general or concat (Luong et al., 2015)", read_luong);
    r.add("scaled_dot", "projected inner product / sqrt(K) (Vaswani et al., 2017)",
          [](Section& section, const Attention::Sizes& sizes) -> AttentionMaker {
            ScaledDotAttention::Options options;
            read(section, options);
            return [=] { return std::make_unique<ScaledDotAttention>(options, sizes); };
          });
    return r;
  }();
  return registry;
}

}  // namespace lookback
