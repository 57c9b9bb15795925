#pragma once

#include <string>
#include <vector>

#include "study/labs/judge.h"

// The labs that lookback brings, each in its own file. A lab is two functions: measure_...() runs
// the library's layers, judge() holds what came of it against the claim. Tests hand wrong
// measurements to the second and see it say so.

namespace lookback {

/// Example 2.4.1: three queries, keys and values of two units.
struct HandMeasured {
  Numbers weights, unscaled;        ///< 3 x 3, by rows
  Numbers output;                   ///< 3 x 2
  Numbers layer_output;             ///< the same through ScaledDotAttention
  Numbers blockwise_output;         ///< the same block by block
  Numbers scales;                   ///< of the scores, from 0 on
  std::vector<Numbers> first_rows;  ///< row 1 of the output at each of them
};
HandMeasured measure_hand(const LabOptions& options);
LabReport judge(const HandMeasured& measured);

/// The spread of inner products of standard normal vectors.
struct VarianceMeasured {
  struct Row {
    int64_t units = 0, pairs = 0;
    double mean = 0, deviation = 0;  ///< of q.k
    double scaled = 0;               ///< standard deviation of the score behind attention's weights
    double disagreement = 0;         ///< largest |score sqrt(d_k) - q.k| / sqrt(d_k)
  };
  std::vector<Row> rows;
  std::string left_out;
};
VarianceMeasured measure_variance(const LabOptions& options);
LabReport judge(const VarianceMeasured& measured);

/// What large scores do to softmax and to the gradients behind it.
struct SaturationMeasured {
  Numbers gaps, slopes;        ///< c, and dp2/dc of two scores 0 and c
  double keys = 0;             ///< in the rows whose entropy is taken
  Numbers factors, entropies;  ///< scores multiplied by a factor, the mean entropy of their softmax
  Numbers units;               ///< d_k of the gradients below
  /// Median over sentences of the gradient's norm at Q and at K, without the scale and with it; and
  /// the root of the mean square at Q, which the few near ties rule.
  Numbers query_raw, query_scaled, key_raw, key_scaled, query_raw_rms, query_scaled_rms;
  /// Share of queries whose gradient is below 1% of the median with the scale.
  Numbers vanished, vanished_scaled;
  std::string left_out;
};
SaturationMeasured measure_saturation(const LabOptions& options);
LabReport judge(const SaturationMeasured& measured);

/// The largest of T_k standard normal scores.
struct ExtremesMeasured {
  struct Row {
    int64_t keys = 0, draws = 0;
    double largest = 0;  ///< mean over the draws
    double weight = 0;   ///< mean weight of the largest
  };
  std::vector<Row> rows;
  std::string left_out;
};
ExtremesMeasured measure_extremes(const LabOptions& options);
LabReport judge(const ExtremesMeasured& measured);

/// The scores of definitions 2.4.2 and 2.4.3 side by side.
struct ScoresMeasured {
  double concat_weights = 0, concat_context = 0, concat_gradient = 0;  ///< off additive attention
  std::string layer_refusal, config_refusal;  ///< of dot where sizes differ; empty: none
  bool general_fits = false, general_finite = false;
  double query_factor_low = 0, query_factor_high = 0;  ///< of dot scores once the query is doubled
  double key_factor_low = 0, key_factor_high = 0;      ///< ... once the keys are
};
ScoresMeasured measure_scores(const LabOptions& options);
LabReport judge(const ScoresMeasured& measured);

/// Causal and padding masks, right and wrong.
struct MaskMeasured {
  struct Part {
    double future = 0, rows_off = 0;  ///< masked before: largest future weight, |row sum - 1|
    double after_low = 0;             ///< masked after: smallest row sum
    double zero_future = 0;           ///< future scores replaced by 0: largest future weight
    double unseen_change = 0;         ///< of earlier outputs once the last key and value change
    double zero_change = 0;           ///< the same where future scores are 0
    double hidden_output = 0;         ///< largest |output| of a query that sees nothing
    bool hidden_finite = false;       ///< all gradients are finite
    double hidden_gradient = 0;       ///< largest gradient that such a query gives
  };
  Part plain, bf16;
};
MaskMeasured measure_mask(const LabOptions& options);
LabReport judge(const MaskMeasured& measured);

/// Rows of the input in another order: how far the output is from its rows in that order.
/// As a share of the largest output.
struct EquivarianceMeasured {
  double attention = 0, layer = 0;   ///< multi-head self-attention; a whole encoder layer
  double positions = 0, causal = 0;  ///< the attention again, with positions and with a causal mask
  int64_t orders = 0;
};
EquivarianceMeasured measure_equivariance(const LabOptions& options);
LabReport judge(const EquivarianceMeasured& measured);

/// What keys and values do to the output.
struct KeysValuesMeasured {
  double lowest_weight = 0, rows_off = 0, combination_off = 0;
  double outside_hull = 0;  ///< how far an output passes every value in some direction
  int64_t directions = 0;
  double new_values = 0, new_keys = 0;  ///< correlation of the outputs with those before
  double new_keys_outside = 0;          ///< of the old values' hull, under new keys
  double equal_values = 0;              ///< off the value that all rows of V share, whatever K is
};
KeysValuesMeasured measure_keys_values(const LabOptions& options);
LabReport judge(const KeysValuesMeasured& measured);

/// Softmax along keys and along queries.
struct AxisMeasured {
  int64_t queries = 0, keys = 0;
  Numbers key_sums;           ///< row sums of attention's weights
  Numbers query_sums;         ///< row sums where softmax ran along the queries
  double along_keys_off = 0;  ///< attention's weights off softmax along the keys
};
AxisMeasured measure_axis(const LabOptions& options);
LabReport judge(const AxisMeasured& measured);

/// Work, memory and time of one attention head beside a recurrent layer.
struct ComplexityMeasured {
  struct Row {
    int64_t length = 0, units = 0;
    uint64_t flops = 0, bytes = 0;  ///< of the products; most memory in use above what stood before
    double milliseconds = 0;        ///< median
  };
  std::vector<Row> attention;  ///< d units, by rising T
  std::vector<Row> wide;       ///< 2d units, the last two T
  std::vector<Row> recurrent;
  int64_t batch = 0, heads = 0;  ///< of `many`
  Row many;                      ///< several sentences and heads; units: of all heads
  std::string left_out;
};
ComplexityMeasured measure_complexity(const LabOptions& options);
ComplexityMeasured measure_complexity_to(int64_t longest, const LabOptions& options);
LabReport judge(const ComplexityMeasured& measured);

/// Attention that keeps its weights for backward beside attention that works them out again.
struct MemoryMeasured {
  struct Row {
    int64_t length = 0;
    bool causal = false;
    uint64_t kept[2] = {};  ///< bytes after forward, the context not counted: kept, blockwise
    uint64_t peak[2] = {};  ///< bytes at the most, forward and backward
    double output = 0, gradient = 0;  ///< largest difference over largest size
  };
  std::vector<Row> rows;  ///< by rising T
  std::string left_out;
};
MemoryMeasured measure_memory(const LabOptions& options);
MemoryMeasured measure_memory_to(int64_t longest, const LabOptions& options);
LabReport judge(const MemoryMeasured& measured);

/// Decoding with as many keys and values as heads, and with fewer.
struct CacheMeasured {
  struct Row {
    int64_t pairs = 0;    ///< n_kv
    uint64_t bytes = 0;   ///< held after the last token
    double repeated = 0;  ///< outputs off a multi-head layer that repeats each key and value head
    double unbroken = 0;  ///< outputs off causal self-attention over all tokens at once
  };
  int64_t batch = 0, heads = 0, size = 0, tokens = 0;
  std::vector<Row> rows;
  std::string left_out;
};
CacheMeasured measure_cache(const LabOptions& options);
LabReport judge(const CacheMeasured& measured);

}  // namespace lookback
