#include <cmath>

#include "autograd/ops.h"
#include "study/labs/built_in.h"
#include "study/labs/samples.h"

namespace lookback {
namespace {

constexpr int64_t kAtOnce = 4096;  // pairs
constexpr double kShare = 0.05;

/// Running mean and standard deviation.
struct Spread {
  double count = 0, sum = 0, squares = 0;

  void take(double value) {
    ++count;
    sum += value;
    squares += value * value;
  }
  double mean() const { return sum / count; }
  double deviation() const { return std::sqrt(squares / count - mean() * mean()); }
};

VarianceMeasured::Row measure(int64_t units, int64_t pairs, const LabOptions& options) {
  Spread raw, scaled;
  double root = std::sqrt(static_cast<double>(units)), disagreement = 0;
  for (int64_t done = 0; done < pairs; done += kAtOnce) {
    give_up_if_stopped(options);
    uint64_t turn = static_cast<uint64_t>(done / kAtOnce);
    Variable query = normals({kAtOnce, 1, units}, options.seed, format("query {}", units), turn);
    Variable key = normals({kAtOnce, 1, units}, options.seed, format("key {}", units), turn);
    Variable products = matmul(query, transpose(key, 1, 2));
    // Beside a key of zeros, whose score is 0, the weights tell the score that attention worked with.
    Variable keys = concat(std::vector<Variable>{Tensor::zeros({kAtOnce, 1, units}), key}, 1);
    Attended attended = dot_product_attention(heads(query, 1, units), heads(keys, 1, units),
                                              heads(keys, 1, units), {.weights = true});
    std::vector<double> scores = scores_behind(attended.weights.value());
    for (size_t i = 0; i < scores.size(); ++i) {
      double product = products.value().values()[i];
      raw.take(product);
      scaled.take(scores[i]);
      double difference = std::abs(scores[i] - product / root);
      disagreement = larger(disagreement, difference);
    }
  }
  return {.units = units,
          .pairs = pairs,
          .mean = raw.mean(),
          .deviation = raw.deviation(),
          .scaled = scaled.deviation(),
          .disagreement = disagreement};
}

}  // namespace

VarianceMeasured measure_variance(const LabOptions& options) {
  NoGrad quiet;
  VarianceMeasured out;
  int64_t pairs = (options.full ? 16 : 2) * kAtOnce;
  for (int64_t units : {16, 64, 256, 1024}) out.rows.push_back(measure(units, pairs, options));
  if (!options.full) out.left_out = "65,536 pairs for each d_k instead of 8,192";
  return out;
}

LabReport judge(const VarianceMeasured& m) {
  Judge judge;
  double worst_mean = 0, disagreement = 0;
  Json rows = Json::array();
  for (const auto& row : m.rows) {
    double root = std::sqrt(static_cast<double>(row.units));
    judge.within_share(format("std of q.k, d_k = {}", row.units), root, row.deviation, kShare);
    worst_mean = larger(worst_mean, std::abs(row.mean) / root);
    disagreement = larger(disagreement, row.disagreement);
    rows.push_back({{"d_k", row.units},
                    {"pairs", row.pairs},
                    {"mean", row.mean},
                    {"std", row.deviation},
                    {"ratio", row.deviation / root},
                    {"std_scaled", row.scaled},
                    {"disagreement", row.disagreement}});
  }
  for (const auto& row : m.rows)
    judge.within_share(format("std of attention's score, d_k = {}", row.units), 1, row.scaled,
                       kShare);
  judge.at_most("largest |mean of q.k| / sqrt(d_k)", 0.05, worst_mean);
  judge.at_most("largest |score - q.k / sqrt(d_k)|", 1e-4, disagreement);
  judge.numbers() = {{"rows", rows}};
  return std::move(judge).report(m.left_out);
}

}  // namespace lookback
