#include "study/scaling.h"

#include <gtest/gtest.h>

#include <cmath>

namespace lookback {
namespace {

TEST(Scaling, TheExponentOfAPowerLawIsExact) {
  for (double k : {-1.0, 0.0, 0.5, 1.0, 1.7, 2.0}) {
    std::vector<std::pair<double, double>> points;
    for (double x : {8.0, 16.0, 32.0, 64.0, 128.0}) points.emplace_back(x, 3 * std::pow(x, k));
    EXPECT_NEAR(upper_exponent(points), k, 1e-12);
  }
}

TEST(Scaling, OnlyTheUpperThreePointsCount) {
  std::vector<std::pair<double, double>> points{{1, 900}, {2, 1e-3}, {4, 16}, {8, 64}, {16, 256}};
  EXPECT_NEAR(upper_exponent(points), 2, 1e-12);
  EXPECT_NEAR(upper_exponent({{1, 10}, {2, 5}}), -1, 1e-12);
  EXPECT_TRUE(std::isnan(upper_exponent({{1, 10}})));
  EXPECT_TRUE(std::isnan(upper_exponent({})));
}

TEST(Scaling, SizesStandAroundTheConfigurations) {
  EXPECT_EQ(sizes_around(64, 1), (std::vector<int64_t>{16, 32, 64, 128, 256}));
  EXPECT_EQ(sizes_around(30, 1), (std::vector<int64_t>{8, 15, 30, 60, 120}));
  EXPECT_EQ(sizes_around(1, 1), (std::vector<int64_t>{1, 2, 4}));
  EXPECT_EQ(sizes_around(10, 5), (std::vector<int64_t>{5, 10, 20, 40}));
}

/// Of an axis whose time and products follow power laws.
ScalingAxis axis_of(const std::string& letter, double time, double products) {
  ScalingAxis axis{.letter = letter, .name = "things", .points = {}, .asymptotic = 2};
  for (double x : {16.0, 32.0, 64.0, 128.0})
    axis.points.push_back({x, std::pow(x, time), std::pow(x, products)});
  return axis;
}

TEST(Scaling, ThePageHasTheExponentsAndAFigureForEachAxis) {
  Scaling scaling{.name = "model", .shape = "B=64", .steps = 5, .axes = {}};
  scaling.axes = {axis_of("D", 1.25, 1.75), axis_of("threads", -0.5, 0)};
  scaling.axes[0].left_out = {"D = 9: heads"};
  Page page = scaling_page(scaling, "lookback bench x --scaling");
  const TableBlock& table = std::get<TableBlock>(page.blocks.at(0));
  EXPECT_EQ(table.rows.at(0), (std::vector<std::string>{"D, things", "1.25", "1.75", "2"}));
  EXPECT_EQ(table.rows.at(1), (std::vector<std::string>{"threads, things", "-0.50", "-", "2"}));
  EXPECT_EQ(std::get<CurvesBlock>(page.blocks.at(1)).figure.series.size(), 3u);
  EXPECT_EQ(std::get<TableBlock>(page.blocks.at(2)).note, "Left out: D = 9: heads");
  EXPECT_EQ(std::get<CurvesBlock>(page.blocks.at(3)).figure.series.size(), 2u);
  std::string text = plain_text(page);
  EXPECT_NE(text.find("log2 of D"), std::string::npos) << text;
  EXPECT_NE(html(page).find("lookback bench x --scaling"), std::string::npos);

  Json json = scaling.json();
  EXPECT_NEAR(json["axes"][0]["measured"].get<double>(), 1.25, 1e-12);
  EXPECT_NEAR(json["axes"][0]["counted"].get<double>(), 1.75, 1e-12);
  EXPECT_TRUE(json["axes"][1]["counted"].is_null());
}

}  // namespace
}  // namespace lookback
