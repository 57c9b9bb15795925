#include "models/transformer_options.h"

#include "core/error.h"

namespace lookback {

void read(Section& section, Section& model, TransformerOptions& o) {
  section.read("width", o.width, between(1, 65536));
  section.read("heads", o.heads, between(1, 65536));
  section.read_or_auto("key_value_heads", o.key_value_heads, between(1, 65536));
  section.read("feed_forward", o.feed_forward, between(1, 1e6));
  section.read("layers", o.layers, between(1, 64));
  section.read_choice("norm", o.norm, {"pre", "post"});
  section.read_choice("activation", o.activation, {"relu", "gelu"});
  section.read_choice("positions", o.positions, {"sinusoidal", "learned", "none"});
  if (o.positions == "learned") section.read("max_positions", o.max_positions, between(1, 1e7));
  model.read("random_offset", o.random_offset, between(0, 1e6));
  if (o.random_offset > 0 && o.positions == "none")
    section.refuse("positions",
                   format("\"none\" has no positions that model.random_offset: {} could "
                          "move; leave one of the two out",
                          o.random_offset));
  section.read("bias", o.bias);
  section.read("dropout", o.dropout, from_below(0, 1));
  o.attention_dropout = o.feed_forward_dropout = o.dropout;
  section.read("attention_dropout", o.attention_dropout, from_below(0, 1));
  section.read("feed_forward_dropout", o.feed_forward_dropout, from_below(0, 1));
  section.read_choice("attention_way", o.attention_way, {"auto", "materialised", "blockwise"});
  if (o.width % o.heads != 0)
    section.refuse("heads", format("width: {} is not a multiple of heads: {}; each head gets "
                                   "width / heads units",
                                   o.width, o.heads));
  if (o.key_value_heads > 0 && o.heads % o.key_value_heads != 0)
    section.refuse("key_value_heads",
                   format("heads: {} is not a multiple of key_value_heads: {}; each key-value head "
                          "serves heads / key_value_heads heads",
                          o.heads, o.key_value_heads));
}

TransformerLayerOptions layer_options(const TransformerOptions& o, const std::string& side,
                                      int64_t layer, int64_t memory) {
  return {.width = o.width,
          .memory = memory,
          .heads = o.heads,
          .key_value_heads = o.key_value_heads,
          .feed_forward = o.feed_forward,
          .norm_first = o.norm == "pre",
          .gelu = o.activation == "gelu",
          .bias = o.bias,
          .residual_dropout = o.dropout,
          .attention_dropout = o.attention_dropout < 0 ? o.dropout : o.attention_dropout,
          .feed_forward_dropout = o.feed_forward_dropout < 0 ? o.dropout : o.feed_forward_dropout,
          .way = o.attention_way == "materialised" ? AttentionWay::kMaterialised
                 : o.attention_way == "blockwise"  ? AttentionWay::kBlockwise
                                                   : AttentionWay::kAuto,
          .site = format("{}.layer{}", side, layer)};
}

Positions::Options position_options(const TransformerOptions& o) {
  return {.kind = o.positions,
          .width = o.width,
          .max_positions = o.max_positions,
          .random_offset = o.random_offset};
}

}  // namespace lookback
