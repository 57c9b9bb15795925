#include "nn/luong.h"

namespace lookback {

LuongAttention::LuongAttention(Score score, const Sizes& sizes) : DotProductAttention(1) {
  if (score == Score::kDot) {
    if (sizes.query != sizes.values)
      fail("[luong] dot needs a query of as many units as a value, not {} and {}", sizes.query,
           sizes.values);
    return;
  }
  key_ = std::make_unique<Linear>(
      Linear::Options{.inputs = sizes.values, .outputs = sizes.query, .bias = false});
  child("key", *key_);
}

Attention::Keys LuongAttention::prepare(const Variable& values, const Mask& mask) const {
  return {key_ ? (*key_)(values) : values, values, mask};
}

ConcatAttention::ConcatAttention(const Options& options, const Sizes& sizes)
    : sizes_(sizes),
      joint_({.inputs = sizes.query + sizes.values,
              .outputs = sizes.resolved(options.units),
              .bias = false}) {
  child("joint", joint_);
  make_v(sizes.resolved(options.units));
}

Attention::Keys ConcatAttention::prepare(const Variable& values, const Mask& mask) const {
  return {linear(values, narrow(joint_.weight(), 1, sizes_.query, sizes_.values)), values, mask};
}

Variable ConcatAttention::query_weight() const {
  return narrow(joint_.weight(), 1, 0, sizes_.query);
}

AttentionMaker read_luong(Section& section, const Attention::Sizes& sizes) {
  std::string score = "general";  // fits any sizes, and did best in the paper
  section.read_choice("score", score, {"dot", "general", "concat"});
  if (score == "concat") {
    ConcatAttention::Options options;
    section.read_or_auto("units", options.units, between(1, 65536));
    return [=] { return std::make_unique<ConcatAttention>(options, sizes); };
  }
  if (score == "dot" && sizes.query != sizes.values)
    section.refuse("score",
                   format("\"dot\" multiplies the decoder's state with the encoder's unit by unit, "
                          "but the decoder has hidden: {} and an encoder state has {} units; make "
                          "them equal, or use score: general or concat, which fit any sizes",
                          sizes.query, sizes.values));
  auto kind = score == "dot" ? LuongAttention::Score::kDot : LuongAttention::Score::kGeneral;
  return [=] { return std::make_unique<LuongAttention>(kind, sizes); };
}

}  // namespace lookback
