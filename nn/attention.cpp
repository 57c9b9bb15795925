#include "nn/attention.h"

#include "nn/bahdanau.h"

namespace lookback {

Registry<AttentionFactory>& attentions() {
  static Registry<AttentionFactory> registry = [] {
    Registry<AttentionFactory> r("attention");
    r.add("bahdanau", "additive score, v . tanh(W_s s + W_h h) (Bahdanau et al., 2015)",
          [](Section& section) -> AttentionMaker {
            BahdanauAttention::Options options;
            read(section, options);
            return [options](const Attention::Sizes& sizes) {
              return std::make_unique<BahdanauAttention>(options, sizes);
            };
          });
    return r;
  }();
  return registry;
}

}  // namespace lookback
