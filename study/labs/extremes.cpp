#include <algorithm>
#include <cmath>

#include "autograd/ops.h"
#include "study/labs/built_in.h"
#include "study/labs/samples.h"

namespace lookback {
namespace {

// A query of ones against standard normal keys: q.k / sqrt(d_k) is exactly standard normal.
constexpr int64_t kUnits = 2;
constexpr int64_t kKeysAtOnce = 1000000;

double bound(int64_t keys) {
  return std::sqrt(2 * std::log(static_cast<double>(keys)));
}

ExtremesMeasured::Row measure(int64_t keys, int64_t draws, const LabOptions& options) {
  double largest = 0, weight = 0;
  int64_t at_once = std::min(draws, kKeysAtOnce / keys);
  for (int64_t done = 0; done < draws; done += at_once) {
    give_up_if_stopped(options);
    Tensor drawn = normals({at_once, keys + 1, kUnits}, options.seed, format("keys {}", keys),
                           static_cast<uint64_t>(done));
    for (int64_t b = 0; b < at_once; ++b)
      drawn.rows(b, 1).reshape({keys + 1, kUnits}).rows(0, 1).fill(0);
    Variable k = std::move(drawn), query = Tensor::full({at_once, 1, kUnits}, 1);
    Tensor weights = dot_product_attention(heads(query, 1, kUnits), heads(k, 1, kUnits),
                                           heads(k, 1, kUnits), {.weights = true})
                         .weights.value();
    std::vector<double> scores = scores_behind(weights);
    for (int64_t b = 0; b < at_once; ++b) {
      double highest = -INFINITY;
      for (int64_t j = 0; j < keys; ++j)
        highest = larger(highest, scores[static_cast<size_t>(b * keys + j)]);
      largest += highest;
      const Real* row = weights.data() + b * (keys + 1);
      weight += static_cast<double>(*std::max_element(row, row + keys + 1));
    }
  }
  double n = static_cast<double>((draws + at_once - 1) / at_once * at_once);
  return {
      .keys = keys, .draws = static_cast<int64_t>(n), .largest = largest / n, .weight = weight / n};
}

}  // namespace

ExtremesMeasured measure_extremes(const LabOptions& options) {
  NoGrad quiet;
  ExtremesMeasured out;
  int64_t more = options.full ? 8 : 1;
  for (auto [keys, draws] : {std::pair<int64_t, int64_t>{10, 20000},
                             {100, 10000},
                             {1000, 4000},
                             {10000, 1000},
                             {100000, 200}})
    out.rows.push_back(measure(keys, draws * more, options));
  if (!options.full) out.left_out = "eight times as many draws for each T_k";
  return out;
}

LabReport judge(const ExtremesMeasured& m) {
  Judge judge;
  Numbers largest, ratios;
  Json rows = Json::array();
  for (const auto& row : m.rows) {
    double most = bound(row.keys), ratio = row.largest / most;
    judge.check(format("mean largest of {} scores", grouped(static_cast<uint64_t>(row.keys))),
                format("below sqrt(2 ln T_k) = {}", short_text(most)), short_text(row.largest),
                row.largest > 0 && row.largest < most);
    largest.push_back(row.largest);
    ratios.push_back(ratio);
    rows.push_back({{"t_k", row.keys},
                    {"draws", row.draws},
                    {"mean_largest", row.largest},
                    {"bound", most},
                    {"ratio", ratio},
                    {"mean_largest_weight", row.weight}});
  }
  judge.check("the largest as T_k grows", "rises", course(largest), rises(largest));
  judge.check("largest / sqrt(2 ln T_k)", "rises towards 1, past 0.88", course(ratios),
              rises(ratios) && ratios.back() > 0.88 && ratios.back() < 1);
  judge.numbers() = {{"rows", rows}};
  return std::move(judge).report(m.left_out);
}

}  // namespace lookback
