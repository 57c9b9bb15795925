#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/config.h"
#include "nn/attention.h"

namespace lookback::testing {

/// Every attention with every score, each as the inside of the section `attention`. `dot` is for
/// sizes that agree.
inline std::vector<std::string> attention_kinds(bool sizes_agree) {
  std::vector<std::string> out{"type: bahdanau, units: 4", "type: luong, score: general",
                               "type: luong, score: concat", "type: luong, score: concat, units: 4",
                               "type: scaled_dot, units: 4"};
  if (sizes_agree) out.insert(out.end(), {"type: luong, score: dot", "type: scaled_dot"});
  return out;
}

inline std::unique_ptr<Attention> build_attention(const std::string& kind,
                                                  const Attention::Sizes& sizes) {
  Config source = Config::from_text("attention: {" + kind + "}\n", "test.yaml"), resolved;
  Section root(source, resolved), section = root.section("attention");
  std::unique_ptr<Attention> out = attentions().choose(section, "type", "none")(section, sizes)();
  refuse_unknown(source, resolved);
  out->initialize(1);
  return out;
}

}  // namespace lookback::testing
