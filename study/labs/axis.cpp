#include <algorithm>
#include <cmath>
#include <numeric>

#include "autograd/ops.h"
#include "study/labs/built_in.h"
#include "study/labs/samples.h"

namespace lookback {
namespace {

constexpr int64_t kQueries = 5, kKeys = 7, kUnits = 16;

Numbers row_sums(const Tensor& weights) {
  Numbers out;
  for (int64_t r = 0; r < kQueries; ++r) {
    double sum = 0;
    for (int64_t s = 0; s < kKeys; ++s) sum += weights.data()[r * kKeys + s];
    out.push_back(sum);
  }
  return out;
}

}  // namespace

AxisMeasured measure_axis(const LabOptions& options) {
  NoGrad quiet;
  Variable query = normals({1, kQueries, kUnits}, options.seed, "query");
  Variable keys = normals({1, kKeys, kUnits}, options.seed, "keys");
  AxisMeasured out;
  out.queries = kQueries;
  out.keys = kKeys;
  Attended attended = dot_product_attention(heads(query, 1, kUnits), heads(keys, 1, kUnits),
                                            heads(keys, 1, kUnits), {.weights = true});
  Variable weights = reshape(attended.weights, {1, kQueries, kKeys});
  Variable scores = scale(matmul(query, transpose(keys, 1, 2)),
                          static_cast<Real>(1 / std::sqrt(static_cast<double>(kUnits))));
  // The op's softmax runs along the last dimension, so the other way is a transposition away.
  Variable along_queries = transpose(softmax(transpose(scores, 1, 2)), 1, 2);
  out.key_sums = row_sums(weights.value());
  out.query_sums = row_sums(along_queries.value());
  out.along_keys_off = largest_difference(weights.value(), softmax(scores).value());
  return out;
}

LabReport judge(const AxisMeasured& m) {
  Judge judge;
  double off = 0, nearest = INFINITY;
  for (double sum : m.key_sums) off = larger(off, std::abs(sum - 1));
  for (double sum : m.query_sums) nearest = smaller(nearest, std::abs(sum - 1));
  auto total = [](const Numbers& sums) { return std::accumulate(sums.begin(), sums.end(), 0.0); };
  judge.check(format("attention's row sums, T_q = {}, T_k = {}", m.queries, m.keys),
              "1 ± 1e-06 each", joined(m.key_sums, 4), off <= 1e-6);
  judge.at_most("attention's weights off softmax along keys", 1e-6, m.along_keys_off);
  judge.check("row sums of softmax along queries", "not 1", joined(m.query_sums, 4),
              nearest > 1e-3 && !m.query_sums.empty());
  judge.near("all weights together, along keys (T_q)", static_cast<double>(m.queries),
             total(m.key_sums), 1e-5);
  judge.near("all weights together, along queries (T_k)", static_cast<double>(m.keys),
             total(m.query_sums), 1e-5);
  judge.numbers() = {{"queries", m.queries},
                     {"keys", m.keys},
                     {"row_sums_along_keys", m.key_sums},
                     {"row_sums_along_queries", m.query_sums},
                     {"along_keys_off", m.along_keys_off}};
  return std::move(judge).report();
}

}  // namespace lookback
