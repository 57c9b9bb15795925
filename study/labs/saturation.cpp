#include <algorithm>
#include <cmath>

#include "autograd/ops.h"
#include "study/labs/built_in.h"
#include "study/labs/samples.h"

namespace lookback {
namespace {

/// One query c, keys 0 and 1 of one unit: the scores are 0 and c.
double slope_at(double c) {
  Variable query(Tensor::full({1, 1, 1, 1}, static_cast<Real>(c)), true);
  Variable keys = Tensor::from({1, 1, 2, 1}, {0, 1});
  Attended attended =
      dot_product_attention(heads(query), heads(keys), heads(keys), {.weights = true});
  return backward(sum(narrow(attended.weights, 3, 1, 1))).of(query).item();
}

double mean_entropy(const Tensor& weights) {
  double total = 0;
  for (Real weight : weights.values())
    if (weight > 0) total -= static_cast<double>(weight) * std::log(static_cast<double>(weight));
  return total / static_cast<double>(weights.shape().rows());
}

void measure_entropy(const LabOptions& options, SaturationMeasured& out) {
  constexpr int64_t kBatch = 16, kRows = 16, kUnits = 16;
  Variable query = normals({kBatch, kRows, kUnits}, options.seed, "entropy query");
  Variable keys = normals({kBatch, kRows, kUnits}, options.seed, "entropy keys");
  out.keys = kRows;
  for (double factor : {1.0, 3.0, 10.0}) {
    Attended attended = dot_product_attention(
        heads(query, 1, kUnits), heads(keys, 1, kUnits), heads(keys, 1, kUnits),
        {.scale = factor / std::sqrt(static_cast<double>(kUnits)), .weights = true});
    out.factors.push_back(factor);
    out.entropies.push_back(mean_entropy(attended.weights.value()));
  }
}

struct Norms {
  Numbers query, key;  ///< one a sentence
};

void take_norms(const Tensor& gradient, Numbers& into) {
  int64_t each = gradient.count() / gradient.size(0);
  for (int64_t b = 0; b < gradient.size(0); ++b) {
    double squares = 0;
    for (int64_t i = b * each; i < (b + 1) * each; ++i) {
      double value = gradient.data()[i];
      squares += value * value;
    }
    into.push_back(std::sqrt(squares));
  }
}

double share_below(double limit, const Numbers& values) {
  double below = 0;
  for (double value : values) below += value < limit;
  return below / static_cast<double>(values.size());
}

double root_mean_square(const Numbers& values) {
  double squares = 0;
  for (double value : values) squares += value * value;
  return std::sqrt(squares / static_cast<double>(values.size()));
}

/// One query a sentence against 16 keys; the same standard normal gradient reaches every context.
void measure_gradients(int64_t units, const LabOptions& options, SaturationMeasured& out) {
  constexpr int64_t kBatch = 512, kKeys = 16, kValueUnits = 16;
  Norms raw, scaled;
  for (uint64_t turn = 0; turn < (options.full ? 16 : 2); ++turn) {
    give_up_if_stopped(options);
    Variable query(normals({kBatch, 1, units}, options.seed, format("query {}", units), turn),
                   true);
    Variable keys(normals({kBatch, kKeys, units}, options.seed, format("keys {}", units), turn),
                  true);
    Variable values = normals({kBatch, kKeys, kValueUnits}, options.seed, "values", turn);
    Tensor seed = normals({kBatch, 1, kValueUnits}, options.seed, "arriving", turn);
    for (Norms* norms : {&raw, &scaled}) {
      DotProductOptions how;
      if (norms == &raw) how.scale = 1;
      Gradients gradients =
          backward(dot_product_attention(heads(query, 1, units), heads(keys, 1, units),
                                         heads(values, 1, kValueUnits), how)
                       .context,
                   seed);
      take_norms(gradients.of(query), norms->query);
      take_norms(gradients.of(keys), norms->key);
    }
  }
  out.units.push_back(static_cast<double>(units));
  out.query_raw.push_back(median(raw.query));
  out.query_scaled.push_back(median(scaled.query));
  out.key_raw.push_back(median(raw.key));
  out.key_scaled.push_back(median(scaled.key));
  out.query_raw_rms.push_back(root_mean_square(raw.query));
  out.vanished.push_back(share_below(0.01 * median(scaled.query), raw.query));
  out.vanished_scaled.push_back(share_below(0.01 * median(scaled.query), scaled.query));
  out.query_scaled_rms.push_back(root_mean_square(scaled.query));
}

Numbers ratios(const Numbers& a, const Numbers& b) {
  Numbers out;
  for (size_t i = 0; i < a.size(); ++i) out.push_back(a[i] / b[i]);
  return out;
}

void judge_gradients(Judge& judge, const std::string& name, const Numbers& raw,
                     const Numbers& scaled) {
  Numbers share = ratios(raw, scaled);
  judge.check(format("median |gradient at {}|, unscaled / scaled", name),
              "falls with d_k, below 0.01", course(share), falls(share) && share.back() < 0.01);
  double low = INFINITY, high = 0;
  for (double norm : scaled) {
    low = smaller(low, norm);
    high = larger(high, norm);
  }
  judge.check(format("median |gradient at {}|, scaled", name), "stays within x 2", course(scaled),
              low > 0 && high <= 2 * low);
}

}  // namespace

SaturationMeasured measure_saturation(const LabOptions& options) {
  SaturationMeasured out;
  for (double gap : {0.0, 0.1, 1.0, 3.0, 10.0}) {
    out.gaps.push_back(gap);
    out.slopes.push_back(slope_at(gap));
  }
  measure_entropy(options, out);
  for (int64_t units : {16, 64, 256, 1024}) measure_gradients(units, options, out);
  if (!options.full) out.left_out = "gradients over 8,192 sentences for each d_k instead of 1,024";
  return out;
}

LabReport judge(const SaturationMeasured& m) {
  Judge judge;
  for (size_t i = 0; i < m.gaps.size(); ++i) {
    double p2 = 1 / (1 + std::exp(-m.gaps[i]));
    judge.within_share(format("dp2/dc at c = {}", short_text(m.gaps[i])), p2 * (1 - p2),
                       m.slopes[i], 0.01);
  }
  judge.check(
      "entropy, scores x 1, x 3, x 10",
      format("falls from below ln {} = {}", m.keys, short_text(std::log(m.keys))),
      course(m.entropies),
      falls(m.entropies) && m.entropies.front() < std::log(m.keys) && m.entropies.back() >= 0);
  judge_gradients(judge, "Q", m.query_raw, m.query_scaled);
  judge_gradients(judge, "K", m.key_raw, m.key_scaled);
  // The rest of the queries have two keys that nearly tie, and a gradient the larger for the missing
  // factor: a mean square does not show what happens to most.
  judge.check("queries left with below 1%, unscaled", "ever more, past 0.3", course(m.vanished),
              rises(m.vanished) && m.vanished.back() > 0.3);
  judge.check("queries left with below 1%, scaled", "hardly any, below 0.01",
              course(m.vanished_scaled),
              std::all_of(m.vanished_scaled.begin(), m.vanished_scaled.end(),
                          [](double share) { return share < 0.01; }));
  judge.numbers() = {{"c", m.gaps},
                     {"dp2_dc", m.slopes},
                     {"entropy_factors", m.factors},
                     {"entropy", m.entropies},
                     {"d_k", m.units},
                     {"median_gradient_norm_q_unscaled", m.query_raw},
                     {"median_gradient_norm_q_scaled", m.query_scaled},
                     {"median_gradient_norm_k_unscaled", m.key_raw},
                     {"median_gradient_norm_k_scaled", m.key_scaled},
                     {"share_of_q_vanished_unscaled", m.vanished},
                     {"share_of_q_vanished_scaled", m.vanished_scaled},
                     {"rms_gradient_norm_q_unscaled", m.query_raw_rms},
                     {"rms_gradient_norm_q_scaled", m.query_scaled_rms}};
  return std::move(judge).report(m.left_out);
}

}  // namespace lookback
