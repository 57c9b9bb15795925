#include "study/statistics.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "core/error.h"

namespace lookback {
namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

/// Ranks from 1; equal values share the mean of theirs.
std::vector<double> ranks(std::span<const double> values) {
  std::vector<size_t> order(values.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return values[a] < values[b]; });
  std::vector<double> out(values.size());
  for (size_t begin = 0, end; begin < order.size(); begin = end) {
    for (end = begin + 1; end < order.size() && values[order[end]] == values[order[begin]];) ++end;
    for (size_t i = begin; i < end; ++i) out[order[i]] = 0.5 * static_cast<double>(begin + end + 1);
  }
  return out;
}

}  // namespace

double student_t(int64_t degrees) {
  if (degrees < 1) fail("[student_t] {} degrees of freedom; at least 1", degrees);
  constexpr double kFew[] = {12.706205, 4.302653, 3.182446, 2.776445, 2.570582,
                             2.446912,  2.364624, 2.306004, 2.262157, 2.228139};
  if (degrees <= 10) return kFew[degrees - 1];
  // The expansion in 1/degrees about the normal quantile (Abramowitz and Stegun, 26.7.5).
  double x = 1.959963985, x3 = x * x * x, x5 = x3 * x * x, x7 = x5 * x * x;
  double n = static_cast<double>(degrees);
  return x + (x3 + x) / (4 * n) + (5 * x5 + 16 * x3 + 3 * x) / (96 * n * n) +
         (3 * x7 + 19 * x5 + 17 * x3 - 15 * x) / (384 * n * n * n);
}

MeanInterval mean_interval(std::span<const double> values) {
  std::vector<double> kept;
  std::copy_if(values.begin(), values.end(), std::back_inserter(kept),
               [](double v) { return std::isfinite(v); });
  if (kept.empty()) return {.mean = kNone, .low = kNone, .high = kNone, .count = 0};
  double n = static_cast<double>(kept.size()), mean = 0, squares = 0;
  for (double v : kept) mean += v / n;
  for (double v : kept) squares += (v - mean) * (v - mean);
  double half = 0;
  if (kept.size() > 1)
    half = student_t(static_cast<int64_t>(kept.size()) - 1) * std::sqrt(squares / (n - 1) / n);
  return {.mean = mean,
          .low = mean - half,
          .high = mean + half,
          .count = static_cast<int64_t>(kept.size())};
}

double correlation(std::span<const double> a, std::span<const double> b) {
  if (a.size() != b.size()) fail("[correlation] {} values against {}", a.size(), b.size());
  if (a.size() < 2) return kNone;
  double n = static_cast<double>(a.size());
  double mean_a = std::accumulate(a.begin(), a.end(), 0.0) / n;
  double mean_b = std::accumulate(b.begin(), b.end(), 0.0) / n;
  double ab = 0, aa = 0, bb = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    ab += (a[i] - mean_a) * (b[i] - mean_b);
    aa += (a[i] - mean_a) * (a[i] - mean_a);
    bb += (b[i] - mean_b) * (b[i] - mean_b);
  }
  return aa > 0 && bb > 0 ? ab / std::sqrt(aa * bb) : kNone;
}

double rank_correlation(std::span<const double> a, std::span<const double> b) {
  std::vector<double> rank_a = ranks(a), rank_b = ranks(b);
  return correlation(rank_a, rank_b);
}

}  // namespace lookback
