#include <algorithm>
#include <cmath>
#include <limits>

#include "core/error.h"
#include "study/explain.h"
#include "study/statistics.h"

namespace lookback {
namespace {

// What counts as agreeing: the largest entries stand at one place, and the ranks do not say the
// opposite. Most entries are close to 0 and their ranks noise, so the correlation has no higher bar.
constexpr double kEnoughTop = 0.8, kOpposed = -0.5;

double nan() {
  return std::numeric_limits<double>::quiet_NaN();
}

WeightCheck check(const std::string& name, const std::string& what, const Agreement& a) {
  bool ranks = std::isnan(a.rank) || a.rank > kOpposed;
  return {name, what, a, a.top >= kEnoughTop && ranks};
}

/// Whether several seeds look at the same places: each against the first.
Agreement over_seeds(const std::vector<Explanation>& seeds) {
  Agreement mean{0, 0};
  double others = static_cast<double>(seeds.size()) - 1;
  for (size_t i = 1; i < seeds.size(); ++i) {
    Agreement one =
        agreement(without_end(seeds[0].mean_weights), without_end(seeds[i].mean_weights));
    mean.rank += one.rank / others;
    mean.top += one.top / others;
  }
  return mean;
}

/// How often the largest weight stands at the known cause.
Agreement against_causes(const Grid& weights, const std::vector<int64_t>& causes) {
  double known = 0, met = 0;
  for (size_t t = 0; t < causes.size() && t < weights.size(); ++t) {
    if (causes[t] < 0 || causes[t] >= static_cast<int64_t>(weights[t].size())) continue;
    ++known;
    met += largest(weights[t]) == static_cast<size_t>(causes[t]);
  }
  return {nan(), known > 0 ? met / known : nan()};
}

std::string names_of(const std::vector<WeightCheck>& checks, bool passes) {
  std::string out;
  for (const WeightCheck& c : checks)
    if (c.passes == passes) out += (out.empty() ? "" : ", ") + c.name;
  return out;
}

}  // namespace

size_t largest(const std::vector<double>& row) {
  return static_cast<size_t>(std::max_element(row.begin(), row.end()) - row.begin());
}

Grid magnitudes(Grid grid) {
  for (std::vector<double>& row : grid)
    for (double& value : row) value = std::abs(value);
  return grid;
}

Grid without_end(const Grid& grid) {
  if (grid.size() < 2) return grid;
  return Grid(grid.begin(), grid.end() - 1);
}

Agreement agreement(const Grid& a, const Grid& b) {
  if (a.size() != b.size()) {
    // Two models may say different things; then nothing can be compared.
    return {nan(), 0};
  }
  double ranks = 0, tops = 0, counted = 0;
  for (size_t t = 0; t < a.size(); ++t) {
    if (double r = rank_correlation(a[t], b[t]); std::isfinite(r)) {
      ranks += r;
      ++counted;
    }
    tops += largest(a[t]) == largest(b[t]);
  }
  double rows = static_cast<double>(a.size());
  return {counted > 0 ? ranks / counted : nan(), rows > 0 ? tops / rows : nan()};
}

WeightVerdict judge_weights(const std::vector<Explanation>& seeds,
                            const std::vector<int64_t>& causes) {
  if (seeds.empty()) fail("[judge_weights] nothing to judge");
  const Explanation& e = seeds[0];
  WeightVerdict out;
  if (e.weights.empty()) {
    out.sentence = "This model has no attention, so there are no weights to read.";
    return out;
  }
  Grid weights = without_end(e.mean_weights);
  out.checks = {
      check("ablation",
            "hide a position's key and value: does the output change where the weight is?",
            agreement(weights, without_end(e.ablation))),
      check("gradient", "does the output hang most on the word where the weight is?",
            agreement(weights, without_end(e.gradient))),
      check("input x gradient", "the same, counting how large the word vector is",
            agreement(weights, without_end(magnitudes(e.product))))};
  if (seeds.size() > 1)
    out.checks.push_back(check("other seeds", "do models trained from other seeds look there too?",
                               over_seeds(seeds)));
  bool known = std::any_of(causes.begin(), causes.end(), [&](int64_t j) {
    return j >= 0 && j < static_cast<int64_t>(e.source.size());
  });
  if (known)
    out.checks.push_back(check("known cause",
                               "is the largest weight on the token that causes the output?",
                               against_causes(weights, causes)));
  std::string failed = names_of(out.checks, false);
  if (!failed.empty()) {
    out.sentence = format(
        "Here the weights should not be read as an explanation: they disagree with {}.", failed);
  } else if (seeds.size() == 1) {
    out.sentence =
        "On this sentence the weights agree with what moves the output, but one model says nothing "
        "of other seeds: give some before reading them as an explanation.";
  } else {
    out.readable = true;
    out.sentence =
        format("On this sentence the weights may be read as an explanation: they agree with {}.",
               names_of(out.checks, true));
  }
  return out;
}

}  // namespace lookback
