#include <algorithm>
#include <cmath>

#include "autograd/ops.h"
#include "study/labs/built_in.h"
#include "study/labs/samples.h"
#include "study/statistics.h"

namespace lookback {
namespace {

constexpr int64_t kBatch = 16, kQueries = 16, kKeys = 8, kUnits = 32, kDirections = 512;

Attended attend(const Tensor& query, const Tensor& keys, const Tensor& values) {
  Attended out =
      dot_product_attention(heads(Variable(query), 1, kUnits), heads(Variable(keys), 1, kUnits),
                            heads(Variable(values), 1, kUnits), {.weights = true});
  return {out.context, reshape(out.weights, {kBatch, kQueries, kKeys})};
}

/// How far an output stands beyond the furthest row of V, over many directions: a point of their
/// convex hull never does. The first directions are the axes.
double outside(const Variable& context, const Tensor& values, const Tensor& directions) {
  Variable outputs = linear(context, directions), rows = linear(Variable(values), directions);
  double furthest = -INFINITY;
  for (int64_t b = 0; b < kBatch; ++b)
    for (int64_t d = 0; d < kDirections; ++d) {
      double most = -INFINITY;
      for (int64_t s = 0; s < kKeys; ++s)
        most = std::max(most, static_cast<double>(rows.value().at({b, s, d})));
      for (int64_t t = 0; t < kQueries; ++t) {
        double past = outputs.value().at({b, t, d}) - most;
        furthest = larger(furthest, past);
      }
    }
  return furthest;
}

Tensor drawn_directions(uint64_t seed) {
  Tensor out = normals({kDirections, kUnits}, seed, "directions");
  for (int64_t d = 0; d < 2 * kUnits; ++d) {
    out.rows(d, 1).fill(0);
    out.data()[d * kUnits + d / 2] = d % 2 ? Real{-1} : Real{1};
  }
  return out;
}

}  // namespace

KeysValuesMeasured measure_keys_values(const LabOptions& options) {
  NoGrad quiet;
  auto drawn = [&](int64_t rows, const char* what) {
    return normals({kBatch, rows, kUnits}, options.seed, what);
  };
  Tensor query = drawn(kQueries, "query"), keys = drawn(kKeys, "keys"),
         values = drawn(kKeys, "values"), other_keys = drawn(kKeys, "other keys"),
         other_values = drawn(kKeys, "other values"), directions = drawn_directions(options.seed);
  Attended before = attend(query, keys, values);
  KeysValuesMeasured out{.directions = kDirections};
  const Tensor& weights = before.weights.value();
  out.lowest_weight = INFINITY;
  for (Real weight : weights.values()) out.lowest_weight = smaller(out.lowest_weight, weight);
  for (int64_t r = 0; r < kBatch * kQueries; ++r) {
    double sum = 0;
    for (int64_t s = 0; s < kKeys; ++s) sum += weights.data()[r * kKeys + s];
    out.rows_off = larger(out.rows_off, std::abs(sum - 1));
  }
  out.combination_off =
      largest_difference(before.context.value(), matmul(before.weights, Variable(values)).value());
  out.outside_hull = outside(before.context, values, directions);

  Variable under_values = attend(query, keys, other_values).context;
  Variable under_keys = attend(query, other_keys, values).context;
  out.new_values = correlation(doubles(before.context.value()), doubles(under_values.value()));
  out.new_keys = correlation(doubles(before.context.value()), doubles(under_keys.value()));
  out.new_keys_outside = outside(under_keys, values, directions);

  Variable one = normals({kBatch, 1, kUnits}, options.seed, "one value");
  auto repeated = [&](int64_t times) {
    return concat(std::vector<Variable>(static_cast<size_t>(times), one), 1).value();
  };
  out.equal_values = largest_difference(attend(query, other_keys, repeated(kKeys)).context.value(),
                                        repeated(kQueries));
  return out;
}

LabReport judge(const KeysValuesMeasured& m) {
  Judge judge;
  judge.at_least("smallest weight", 0, m.lowest_weight);
  judge.at_most("weights of a query: |sum - 1|", 1e-6, m.rows_off);
  judge.at_most("outputs off P V", 1e-5, m.combination_off);
  judge.at_most(format("outputs beyond the hull of V, {} directions", m.directions), 1e-5,
                m.outside_hull);
  judge.check("new V: correlation with the outputs before", "0 ± 0.1", short_text(m.new_values),
              std::abs(m.new_values) <= 0.1);
  judge.at_least("new K: correlation with the outputs before", 0.2, m.new_keys);
  judge.at_most("new K: outputs beyond the hull of V", 1e-5, m.new_keys_outside);
  judge.at_most("all rows of V equal: outputs off that row, new K", 1e-5, m.equal_values);
  judge.numbers() = {
      {"smallest_weight", m.lowest_weight},   {"row_sum_off", m.rows_off},
      {"combination_off", m.combination_off}, {"outside_hull", m.outside_hull},
      {"directions", m.directions},           {"correlation_new_values", m.new_values},
      {"correlation_new_keys", m.new_keys},   {"outside_hull_new_keys", m.new_keys_outside},
      {"equal_values_off", m.equal_values}};
  return std::move(judge).report();
}

}  // namespace lookback
