#pragma once

#include <string>

#include "autograd/ops.h"
#include "autograd/past.h"
#include "nn/module.h"

namespace lookback {

/// Multi-head attention (Vaswani et al., 2017, section 3.2.2), with as many keys and values as heads
/// or fewer (Shazeer, 2019; Ainslie et al., 2023):
///     q = W_q x + b_q   k = W_k m + b_k   v = W_v m + b_v, split into H, G and G heads of K = D / H
///     y = W_o [softmax(q_i k_i^T / sqrt(K)) v_i]_(i = 1..H) + b_o
/// Parameters as in torch.nn.MultiheadAttention: `in_proj_weight` ((H + 2G) K, D), rows of q, k, v,
/// and `in_proj_bias`; where the memory's states are not D wide, `q_proj_weight` (D, D),
/// `k_proj_weight` and `v_proj_weight` (G K, memory) in its place; `out_proj.weight`,
/// `out_proj.bias`.
class MultiHeadAttention : public Module {
 public:
  struct Options {
    int64_t width = 0;             ///< D
    int64_t memory = -1;           ///< units of what keys and values come from; -1: D
    int64_t heads = 1;             ///< H, which divides D
    int64_t key_value_heads = -1;  ///< G, which divides H; -1: H
    bool bias = true;
    double dropout = 0;  ///< on the weights, in training
    AttentionWay way = AttentionWay::kAuto;
    std::string site = "attention";  ///< names the place of dropout
  };
  explicit MultiHeadAttention(const Options& options);

  /// How to attend: mask and pass, and whether weights (B, H, T, S) come back too.
  struct Call {
    Mask mask;
    Pass pass;
    bool weights = false;
    /// Of cross-attention: which row of the memory each row asks; empty: its own.
    std::span<const int64_t> memory_rows = {};
  };
  /// Self-attention: x (B, T, D) -> (B, T, D).
  Attended self(const Variable& x, const Call& call) const;
  /// Keys and values of a memory, once a batch: (B, S, memory) -> (B, S, 2 G K).
  Variable prepare(const Variable& memory) const;
  /// Cross-attention with what prepare() gave: x (B, T, D) -> (B, T, D).
  Attended cross(const Variable& x, const Variable& prepared, const Call& call) const;
  /// Causal self-attention, one token a call: x (B, 1, D), and in `cache` (B, t, 2 G K) the keys and
  /// values of the t tokens before, to which this one's are appended.
  Variable next(const Variable& x, Variable& cache) const;
  /// The same without history, the tokens before standing in a layer of `past`.
  Variable next(const Variable& x, Past& past, int64_t layer) const;
  /// Columns of a cache: 2 G K.
  int64_t cache_width() const { return 2 * options_.key_value_heads * size_; }

 private:
  Attended attend(const Variable& query, int64_t query_column, const Variable& memory,
                  int64_t key_column, const Call& call) const;
  Variable project(const Variable& x, int64_t begin, int64_t rows) const;
  Variable bias_rows(int64_t begin, int64_t rows) const;
  void check_self() const;

  Options options_;
  int64_t size_;  // K
  Variable in_weight_, q_weight_, k_weight_, v_weight_, in_bias_, out_weight_, out_bias_;
};

}  // namespace lookback
