#include "study/statistics.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "core/error.h"
#include "study/run_report.h"

namespace lookback {
namespace {

TEST(Statistics, StudentsQuantilesAreThoseOfTheTables) {
  EXPECT_NEAR(student_t(1), 12.706, 1e-3);
  EXPECT_NEAR(student_t(2), 4.303, 1e-3);
  EXPECT_NEAR(student_t(10), 2.228, 1e-3);
  EXPECT_NEAR(student_t(11), 2.201, 1e-3);
  EXPECT_NEAR(student_t(30), 2.042, 1e-3);
  EXPECT_NEAR(student_t(1000), 1.962, 1e-3);
  EXPECT_THROW(student_t(0), Error);
}

TEST(Statistics, AMeanHasTheIntervalOfItsSeeds) {
  // 1, 2, 3: s = 1, half = 4.3027 / sqrt 3.
  MeanInterval m = mean_interval(std::vector<double>{1, 2, 3});
  EXPECT_DOUBLE_EQ(m.mean, 2);
  EXPECT_NEAR(m.low, 2 - 2.4842, 1e-3);
  EXPECT_NEAR(m.high, 2 + 2.4842, 1e-3);
  EXPECT_EQ(m.count, 3);
  MeanInterval one = mean_interval(std::vector<double>{5});
  EXPECT_EQ(one.low, 5);
  EXPECT_EQ(one.high, 5);
  EXPECT_TRUE(std::isnan(mean_interval(std::vector<double>{}).mean));
  MeanInterval gap = mean_interval(std::vector<double>{1, std::nan(""), 3});
  EXPECT_DOUBLE_EQ(gap.mean, 2);
  EXPECT_EQ(gap.count, 2);
}

TEST(Statistics, RanksShareTheirPlaceWhereValuesAreEqual) {
  std::vector<double> rising = {1, 2, 3, 4}, falling = {9, 7, 5, -1}, curved = {1, 10, 100, 1000};
  EXPECT_DOUBLE_EQ(rank_correlation(rising, curved), 1);
  EXPECT_DOUBLE_EQ(rank_correlation(rising, falling), -1);
  EXPECT_LT(correlation(rising, curved), 0.95);
  // Ranks 1, 2.5, 2.5, 4 against 1, 2, 3, 4: 4.5 / sqrt(4.5 x 5).
  EXPECT_NEAR(rank_correlation(std::vector<double>{1, 2, 2, 3}, rising), 4.5 / std::sqrt(22.5),
              1e-12);
  EXPECT_TRUE(std::isnan(rank_correlation(rising, std::vector<double>{1, 1, 1, 1})));
  EXPECT_TRUE(std::isnan(rank_correlation(std::vector<double>{1}, std::vector<double>{1})));
  EXPECT_THROW(rank_correlation(rising, std::vector<double>{1}), Error);
}

TEST(Statistics, AShareIsNeverCertain) {
  auto [low, high] = share_interval(1, 50);
  EXPECT_NEAR(low, 0.9286, 1e-3);  // Wilson's
  EXPECT_NEAR(high, 1, 1e-12);
  auto [none, some] = share_interval(0, 50);
  EXPECT_EQ(none, 0);
  EXPECT_NEAR(some, 0.0714, 1e-3);
  EXPECT_EQ(share_interval(0, 0), (std::pair<double, double>(0, 1)));
}

}  // namespace
}  // namespace lookback
