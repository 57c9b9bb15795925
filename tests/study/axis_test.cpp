#include "study/axis.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

#include "core/error.h"

namespace lookback {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();
using Labels = std::vector<std::string>;

Figure log_figure(std::vector<double> values) {
  Figure figure{
      .title = "", .subtitle = "", .x_label = "", .y_label = "", .series = {}, .log_y = true};
  figure.series.push_back({.name = "a", .points = {}});
  double x = 0;
  for (double value : values) figure.series[0].points.emplace_back(x++, value);
  return figure;
}

TEST(Axis, PowersOfTenHoldAllValues) {
  Axis axis = y_axis(log_figure({0.004, 3, 70}), 6);
  EXPECT_TRUE(axis.log);
  EXPECT_DOUBLE_EQ(axis.low, 0.001);
  EXPECT_DOUBLE_EQ(axis.high, 100);
  EXPECT_EQ(axis.labels, (Labels{"0.001", "0.01", "0.1", "1", "10", "100"}));
  EXPECT_DOUBLE_EQ(axis.place(0.001), 0);
  EXPECT_NEAR(axis.place(0.1), 0.4, 1e-12);
  EXPECT_DOUBLE_EQ(axis.place(100), 1);
  EXPECT_DOUBLE_EQ(axis.place(-5), 0);
}

TEST(Axis, PowersOfTenOfOneDecadeHaveTicksBetween) {
  EXPECT_EQ(y_axis(log_figure({3, 7}), 6).labels, (Labels{"1", "2", "5", "10"}));
  EXPECT_EQ(y_axis(log_figure({1}), 6).labels, (Labels{"0.1", "0.2", "0.5", "1"}));
  Figure share = log_figure({0.02, 0.9});
  share.percent = true;
  EXPECT_EQ(y_axis(share, 6).labels, (Labels{"1%", "10%", "100%"}));
}

TEST(Axis, ManyPowersOfTenHaveFewTicks) {
  Axis axis = y_axis(log_figure({1e-20, 1e20}), 6);
  EXPECT_GE(axis.ticks.size(), 4u);
  EXPECT_LE(axis.ticks.size(), 8u);
  axis = y_axis(log_figure({5e-324, 1.7e308}), 6);
  EXPECT_LT(axis.low, axis.high);
  EXPECT_LE(axis.high, std::numeric_limits<double>::max());
  EXPECT_GT(axis.low, 0);
}

TEST(Axis, NothingAboveZeroLeavesSomethingToDrawIn) {
  for (const Figure& figure : {log_figure({}), log_figure({0, -1, kNaN, kInfinity})}) {
    Axis axis = y_axis(figure, 6);
    EXPECT_GT(axis.low, 0);
    EXPECT_LT(axis.low, axis.high);
    EXPECT_FALSE(axis.ticks.empty());
    Axis x = x_axis(figure, 6);
    EXPECT_LT(x.low, x.high);
  }
}

TEST(Axis, PlacesAreHeldInside) {
  Figure figure = log_figure({1, 2, 3});
  figure.log_y = false;
  figure.y_range = std::pair(1.0, 2.0);
  Axis axis = y_axis(figure, 6);
  EXPECT_EQ(axis.place(3), 1);
  EXPECT_EQ(axis.place(0), 0);
  EXPECT_EQ(axis.place(1.5), 0.5);
}

}  // namespace
}  // namespace lookback
