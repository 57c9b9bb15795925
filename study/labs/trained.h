#pragma once

#include "study/explain.h"
#include "study/labs/judge.h"

// The labs that train models. As in built_in.h, measuring and judging are two functions.

namespace lookback {

/// How far back the last output reaches: first over last of n = 40 positions.
struct PathMeasured {
  struct Row {
    std::string model;
    bool attends = false;
    Numbers before, after;  ///< gradient norms by position; after: empty where it was not trained
  };
  std::vector<Row> rows;
  std::string left_out;
};
PathMeasured measure_path(const LabOptions& options);
LabReport judge(const PathMeasured& measured);

/// Sentences exactly right by length, after equal steps.
struct BottleneckMeasured {
  struct Row {
    std::string model;
    bool attends = false;
    int64_t units = 0, parameters = 0;
    Numbers right;  ///< share of the held-out sentences of 1, 2, .. letters; mean over seeds
    double half = 0;
  };
  std::vector<Row> rows;
  std::string left_out;
};
BottleneckMeasured measure_bottleneck(const LabOptions& options);
LabReport judge(const BottleneckMeasured& measured);

/// Weights beside causes, on a task whose cause is known: copy token k.
struct ExplainMeasured {
  double right = 0;                               ///< sentences exactly right
  double cause_changes = 0;                       ///< another token at k: the output changes
  double others_keep = 0;                         ///< another token elsewhere: it stays
  double weight_on_cause = 0, weight_beside = 0;  ///< the largest weight is on k; on a neighbour
  double ablation_on_cause = 0;  ///< hiding position k, or its neighbour, moves the output most
  double gradient_on_cause = 0, product_on_cause = 0;
  Agreement ablation, gradient, product;  ///< of the weights with each, meaned over sentences
  Agreement seeds;                        ///< of the weights of two seeds
  int64_t sentences = 0;
  // The constructed case: a key that gets nearly all the weight, with a value of zeros.
  double hidden_weight = 0;   ///< its weight
  double hidden_product = 0;  ///< |value x gradient| there over the largest of the others
  double hidden_change = 0;   ///< of the output when that value is taken away
  double other_change = 0;    ///< when the value with little weight is
  std::string left_out;
};
ExplainMeasured measure_explain(const LabOptions& options);
LabReport judge(const ExplainMeasured& measured);

/// A trained Transformer with each head taken out in turn.
struct HeadsMeasured {
  double nll = 0, right = 0;  ///< whole
  struct Row {
    std::string head;  ///< `decoder 1 cross 2`
    double nll = 0, right = 0;
  };
  std::vector<Row> rows;
  std::string left_out;
};
HeadsMeasured measure_heads(const LabOptions& options);
LabReport judge(const HeadsMeasured& measured);

}  // namespace lookback
