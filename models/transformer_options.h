#pragma once

#include <string>

#include "core/config.h"
#include "nn/positions.h"
#include "nn/transformer_layer.h"

namespace lookback {

/// The options of one side of a Transformer, encoder or decoder.
struct TransformerOptions {
  int64_t width = 256;           ///< D
  int64_t heads = 4;             ///< H, which divides D
  int64_t key_value_heads = -1;  ///< G, which divides H; -1 (`auto`): H
  int64_t feed_forward = 1024;   ///< units inside the feed-forward network
  int64_t layers = 3;
  std::string norm = "pre";         ///< pre | post
  std::string activation = "relu";  ///< relu | gelu
  std::string positions = "sinusoidal";
  int64_t max_positions = 1024;        ///< of learned positions
  int64_t random_offset = 0;           ///< see Positions; `model.random_offset`, for both sides
  bool bias = true;                    ///< of the projections of attention
  double dropout = 0;                  ///< on embeddings and on what each residual connection adds
  double attention_dropout = -1;       ///< on attention weights; -1: as `dropout`
  double feed_forward_dropout = -1;    ///< inside the feed-forward network; -1: as `dropout`
  std::string attention_way = "auto";  ///< auto | materialised | blockwise
};

/// Reads a section `encoder` or `decoder`, and `random_offset` in the model's. Sizes that do not
/// divide each other are refused.
void read(Section& section, Section& model, TransformerOptions& options);

/// The options of layer `layer`; `side` (encoder or decoder) names its places of dropout.
TransformerLayerOptions layer_options(const TransformerOptions& options, const std::string& side,
                                      int64_t layer, int64_t memory);
Positions::Options position_options(const TransformerOptions& options);

}  // namespace lookback
