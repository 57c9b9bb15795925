#include "study/heatmap_figure.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

#include "core/error.h"
#include "study/sample_page.h"
#include "study/xml.h"

namespace lookback {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

Heatmap map_of(std::vector<std::vector<double>> values) {
  Heatmap map{.name = "m", .rows = {}, .columns = {}, .values = std::move(values)};
  for (size_t i = 0; i < map.values.size(); ++i) map.rows.push_back(format("r{}", i));
  for (size_t k = 0; !map.values.empty() && k < map.values[0].size(); ++k)
    map.columns.push_back(format("c{}", k));
  return map;
}

TEST(Heatmap, ScaleFollowsTheValues) {
  HeatmapScale scale = heatmap_scale(map_of({{0.1, 0.3}, {kNaN, 0}}));
  EXPECT_EQ(scale.low, 0);
  EXPECT_EQ(scale.high, 1);
  EXPECT_FALSE(scale.diverging);
  scale = heatmap_scale(map_of({{0, 4}}));
  EXPECT_EQ(scale.high, 4);
  EXPECT_EQ(scale.share(1), 0.25);
  scale = heatmap_scale(map_of({{-0.5, 0.25}}));
  EXPECT_TRUE(scale.diverging);
  EXPECT_EQ(scale.low, -0.5);
  EXPECT_EQ(scale.high, 0.5);
  EXPECT_EQ(scale.share(0), 0.5);
  EXPECT_EQ(scale.share(-0.5), 0);
  scale = heatmap_scale(map_of({{-1e308, 1e308}}));
  EXPECT_EQ(scale.share(1e308), 1);
  EXPECT_EQ(heatmap_scale(map_of({})).high, 1);
}

TEST(Heatmap, ColoursRunEvenlyInLightness) {
  auto light = [](const std::string& colour) {
    auto channel = [&](int at) { return std::stoi(colour.substr(at, 2), nullptr, 16); };
    return 0.3 * channel(1) + 0.59 * channel(3) + 0.11 * channel(5);
  };
  for (bool dark : {false, true}) {
    for (int i = 1; i <= 60; ++i) {
      double before = (i - 1) / 60.0, now = i / 60.0;
      double step = light(colour_at(heatmap_colours(false, dark), now)) -
                    light(colour_at(heatmap_colours(false, dark), before));
      EXPECT_GT(dark ? step : -step, 0) << now;
      const ColourStops& both = heatmap_colours(true, dark);
      step = light(colour_at(both, now)) - light(colour_at(both, before));
      EXPECT_GT((now <= 0.5) == dark ? -step : step, 0) << now << " diverging";
    }
  }
  EXPECT_EQ(colour_at(heatmap_colours(false, false), 0), heatmap_colours(false, false).front());
  EXPECT_EQ(colour_at(heatmap_colours(false, false), 1), heatmap_colours(false, false).back());
}

TEST(Heatmap, SvgNamesTokensAndValues) {
  std::string text = svg(map_of({{0.25, 1}, {kNaN, 0}}), "A map", "of little");
  EXPECT_EQ(xml_error(text), "");
  for (const char* words : {"A map", "of little", "r0", "r1", "c0", "c1", ".25", "source →",
                            "target ↓", "r0, c0: 0.25", "r1, c1: 0"})
    EXPECT_EQ(count(text, format(">{}<", words)), words == std::string("A map") ? 2u : 1u) << words;
  EXPECT_EQ(count(text, "r1, c0"), 0u);  // not finite: no cell
  EXPECT_EQ(text.find("nan"), std::string::npos);
}

TEST(Heatmap, SvgStandsAnyMap) {
  Heatmap hostile = map_of({{-1, 2}});
  hostile.rows = {kHostile + "\x1b\xff"};
  hostile.columns = {"注意力", ""};
  EXPECT_EQ(xml_error(svg(hostile, kHostile, kHostile)), "");
  EXPECT_EQ(xml_error(svg(map_of({}), "")), "");
  EXPECT_EQ(xml_error(svg(map_of({{kNaN}}), "")), "");
  EXPECT_EQ(xml_error(svg(map_of({std::vector<double>(200, 0.01)}), "wide")), "");
}

TEST(Heatmap, RefusesValuesThatDoNotFitItsTokens) {
  Heatmap map = map_of({{1, 2}, {3, 4}});
  map.values[1].pop_back();
  EXPECT_THROW(svg(map, ""), Error);
  map.values.pop_back();
  EXPECT_THROW(svg(map, ""), Error);
}

}  // namespace
}  // namespace lookback
