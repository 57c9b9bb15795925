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

}  // namespace lookback
