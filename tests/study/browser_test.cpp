// Opens reports in Chromium, at a phone's and a laptop's width, light and dark. What is asserted here
// was found by page_checks.js in the drawn page; skipped where no browser is installed.

#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <set>
#include <string>
#include <vector>

#include "study/browser.h"
#include "study/heatmap_figure.h"
#include "study/sample_page.h"

namespace lookback {
namespace {

#define NEED_BROWSER() \
  if (find_browser().empty()) GTEST_SKIP() << "no chromium: apt-get install chromium"

/// Holds of every page at every width.
void expect_sound(const Seen& seen) {
  EXPECT_EQ(seen.complaints, std::vector<std::string>{});
  ASSERT_EQ(seen.widths.size(), 2u);
  EXPECT_EQ(seen.widths[0]["width"], 360);
  EXPECT_EQ(seen.widths[1]["width"], 1280);
  for (const Json& found : seen.widths) {
    SCOPED_TRACE(format("{} pixels wide", json_text(found["width"])));
    EXPECT_EQ(found["ready"], true);
    EXPECT_LE(found["overflow"].get<double>(), 0);
    EXPECT_EQ(json_text(found["collisions"]), "[]");
    EXPECT_EQ(json_text(found["loads"]), "[]");
    EXPECT_EQ(found["images"], 0);
    for (const Json& chart : found["charts"]) {
      EXPECT_EQ(json_text(chart["crowded"]), "[]");
      EXPECT_EQ(chart["sizeFits"], true);
      EXPECT_EQ(chart["tipOutside"], false);
      EXPECT_EQ(chart["tipLeft"], false);
    }
    for (const Json& heatmap : found["heatmaps"])
      for (const Json& map : heatmap["maps"])
        if (!map.is_null()) {
          EXPECT_GE(map["square"].get<double>(), 16);
          EXPECT_LE(map["square"].get<double>(), 40);
          EXPECT_NEAR(map["square"].get<double>(), map["tall"].get<double>(), 1);
          EXPECT_EQ(map["tipLeft"], false);
          EXPECT_EQ(json_text(map["collisions"]), "[]");
          EXPECT_LE(map["overflow"].get<double>(), 0);
        }
  }
}

void expect_points(const Json& chart, const Figure& figure) {
  ASSERT_EQ(chart["points"].size(), figure.series.size());
  for (size_t i = 0; i < figure.series.size(); ++i) {
    const auto& points = figure.series[i].points;
    ASSERT_EQ(chart["points"][i].size(), points.size());
    for (size_t k = 0; k < points.size(); ++k) {
      const Json& point = chart["points"][i][k];
      if (std::isfinite(points[k].second)) {
        EXPECT_EQ(point[0], points[k].first);
        EXPECT_EQ(point[1], points[k].second);
      } else {
        EXPECT_TRUE(point[1].is_null());
      }
    }
    EXPECT_EQ(chart["names"][i], figure.series[i].name);
  }
}

/// The page mixes colours as the SVG does, to a rounding.
void expect_colours(const Json& found, const Heatmap& map) {
  HeatmapScale scale = heatmap_scale(map);
  for (size_t i = 0; i < map.rows.size(); ++i) {
    for (size_t k = 0; k < map.columns.size(); ++k) {
      if (!std::isfinite(map.values[i][k])) continue;
      std::string mixed =
          colour_at(heatmap_colours(scale.diverging, false), scale.share(map.values[i][k]));
      std::string shown = found["colours"][i * map.columns.size() + k];
      int rgb[3];
      ASSERT_EQ(std::sscanf(shown.c_str(), "rgb(%d, %d, %d)", &rgb[0], &rgb[1], &rgb[2]), 3);
      for (int channel = 0; channel < 3; ++channel) {
        EXPECT_NEAR(rgb[channel], std::stoi(mixed.substr(1 + 2 * channel, 2), nullptr, 16), 1);
      }
    }
  }
}

TEST(Browser, ShowsEveryKindOfBlockWithItsNumbers) {
  NEED_BROWSER();
  Page page = sample_page();
  Seen seen = look_at(page);
  expect_sound(seen);
  for (const Json& found : seen.widths) {
    SCOPED_TRACE(format("{} pixels wide", json_text(found["width"])));
    EXPECT_EQ(found["title"], page.title);
    std::string text = found["text"];
    EXPECT_NE(text.find("</script><img src=x onerror=\"document.title='broken out'\">"),
              std::string::npos);
    EXPECT_NE(text.find("注意力"), std::string::npos);

    const auto& table = std::get<TableBlock>(page.blocks[2]);
    ASSERT_EQ(found["tables"].size(), 1u);
    EXPECT_EQ(found["tables"][0]["cells"][0], Json(table.columns));
    for (size_t i = 0; i < table.rows.size(); ++i)
      EXPECT_EQ(found["tables"][0]["cells"][i + 1], Json(table.rows[i]));
    EXPECT_EQ(found["tables"][0]["flushRight"], (Json{false, true, true, true, true, false}));

    ASSERT_EQ(found["charts"].size(), 2u);
    expect_points(found["charts"][0], sample_curves());
    expect_points(found["charts"][1], sample_losses());
    EXPECT_EQ(found["charts"][1]["yLabels"], (Json{"0.001", "0.01", "0.1", "1", "10"}));
    for (const Json& chart : found["charts"]) {
      EXPECT_EQ(chart["hides"], true);
      EXPECT_EQ(chart["showsAgain"], true);
      EXPECT_GT(chart["inked"].get<int>(), 20);
    }
    for (const Json& share : found["charts"][0]["bands"]) EXPECT_GT(share.get<double>(), 0.9);
    std::string tip = found["charts"][0]["tip"];
    EXPECT_TRUE(tip.starts_with("source length in tokens: ")) << tip;
    EXPECT_NE(tip.find("Bahdanau's attention"), std::string::npos) << tip;
    EXPECT_NE(tip.find("% ("), std::string::npos) << tip;  // a value and its interval

    const auto& maps = std::get<HeatmapBlock>(page.blocks[3]).maps;
    ASSERT_EQ(found["heatmaps"].size(), 2u);
    ASSERT_EQ(found["heatmaps"][0]["choices"].size(), maps.size());
    for (size_t m = 0; m < maps.size(); ++m) {
      const Json& map = found["heatmaps"][0]["maps"][m];
      EXPECT_EQ(found["heatmaps"][0]["choices"][m], maps[m].name);
      EXPECT_EQ(map["rows"], Json(maps[m].rows));
      EXPECT_EQ(map["columns"], Json(maps[m].columns));
      expect_colours(map, maps[m]);
      for (size_t i = 0; i < maps[m].rows.size(); ++i) {
        for (size_t k = 0; k < maps[m].columns.size(); ++k) {
          // `orange, Hut: 0.3456`, to four digits.
          std::string hint = map["tips"][i * maps[m].columns.size() + k];
          std::string start = maps[m].rows[i] + ", " + maps[m].columns[k] + ": ";
          ASSERT_TRUE(hint.starts_with(start)) << hint;
          double value = maps[m].values[i][k];
          EXPECT_NEAR(std::stod(hint.substr(start.size())), value, 5.1e-3 * std::abs(value));
        }
      }
    }
    expect_colours(found["heatmaps"][1]["maps"][0], sample_effects());
    EXPECT_EQ(found["heatmaps"][1]["maps"][0]["tips"][2 * 11 + 3], "in, einem: no value");
    EXPECT_EQ(found["heatmaps"][1]["maps"][0]["texts"][2 * 11 + 3], "");

    ASSERT_EQ(found["codes"].size(), 2u);
    EXPECT_EQ(found["codes"][0], std::get<CodeBlock>(page.blocks[7]).code);
    EXPECT_EQ(found["codes"][1], std::get<CodeBlock>(page.blocks[8]).code);
    EXPECT_EQ(found["folded"], Json{false});
    EXPECT_EQ(found["copied"], "Copied");
  }
}

double lightness(const std::string& rgb) {
  int r = 0, g = 0, b = 0;
  EXPECT_EQ(std::sscanf(rgb.c_str(), "rgb(%d, %d, %d)", &r, &g, &b), 3) << rgb;
  return (0.3 * r + 0.59 * g + 0.11 * b) / 255;
}

TEST(Browser, FollowsTheReadersSchemeAndPrintsLight) {
  NEED_BROWSER();
  Page page = sample_page();
  std::vector<std::string> sequential;
  for (bool dark : {false, true}) {
    SCOPED_TRACE(dark ? "dark" : "light");
    Seen seen = look_at(page, dark);
    expect_sound(seen);
    for (const Json& found : seen.widths) {
      double paper = lightness(found["paper"]);
      EXPECT_TRUE(dark ? paper < 0.15 : paper > 0.9) << paper;
      for (const Json& chart : found["charts"])
        for (const Json& colour : chart["colours"])
          EXPECT_GT(std::abs(lightness(colour) - paper), 0.3) << colour;
      sequential.push_back(found["heatmaps"][0]["maps"][0]["colours"][0]);
      const Json& printing = found["printing"];  // (line, ink) before, while and after
      EXPECT_EQ(printing[0], printing[2]);
      EXPECT_EQ(printing[0] == printing[1], !dark) << printing;
      EXPECT_LT(lightness(printing[1][1]), 0.3);
    }
  }
  EXPECT_NE(sequential.front(), sequential.back());
}

TEST(Browser, StandsEmptyAndExtremeBlocks) {
  NEED_BROWSER();
  Seen seen = look_at(extreme_page());
  expect_sound(seen);
  for (const Json& found : seen.widths) {
    ASSERT_EQ(found["charts"].size(), 5u);
    EXPECT_GT(found["charts"][1]["inked"].get<int>(), 0);
    EXPECT_EQ(found["charts"][2]["names"][1], "nothing (no data)");
    EXPECT_TRUE(found["charts"][3]["points"][0][1][1].is_null());  // not above 0
    EXPECT_EQ(found["charts"][3]["points"][0][2][1], 3.5);
    ASSERT_EQ(found["tables"].size(), 3u);
    EXPECT_EQ(found["tables"][2]["cells"][1].size(), 200u);
    EXPECT_EQ(found["heatmaps"][1]["maps"][1]["columns"].size(), 200u);
    EXPECT_TRUE(found["heatmaps"][2]["maps"][0].is_null());
  }
}

TEST(Browser, AnEmptyPageIsDrawn) {
  NEED_BROWSER();
  expect_sound(look_at({}));
}

}  // namespace
}  // namespace lookback
