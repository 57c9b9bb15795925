#pragma once

#include <cstdint>
#include <span>

namespace lookback {

/// What several seeds say together.
struct MeanInterval {
  double mean = 0;
  /// The 95% confidence interval of the mean, mean -+ t s / sqrt(n), Student's t with n - 1 degrees
  /// of freedom: what the mean over other seeds would do. Both are the mean where n is 1.
  double low = 0, high = 0;
  int64_t count = 0;  ///< of values that are finite; the others are left out
};
/// Over no value at all: NaN.
MeanInterval mean_interval(std::span<const double> values);

/// The 97.5% quantile of Student's t distribution; 1 degree of freedom or more.
double student_t(int64_t degrees);

/// Spearman's rank correlation: Pearson's over ranks, equal values sharing the mean of their ranks.
/// NaN where one side is constant, or there are fewer than two pairs.
double rank_correlation(std::span<const double> a, std::span<const double> b);

/// Pearson's correlation. NaN as above.
double correlation(std::span<const double> a, std::span<const double> b);

}  // namespace lookback
