#include "study/page.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

#include "core/error.h"
#include "core/json.h"
#include "study/page_json.h"
#include "study/sample_page.h"
#include "study/xml.h"

namespace lookback {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

/// What stands between the data element's tags.
std::string data_text(const std::string& document) {
  const std::string start = "<script type=\"application/json\" id=\"page-data\">";
  size_t from = document.find(start) + start.size();
  return document.substr(from, document.find("</script>", from) - from);
}

Json data_of(const Page& page) {
  return parse_json(data_text(html(page)), "page-data");
}

Page page_of(Block block) {
  return {.title = "t", .subtitle = "", .blocks = {std::move(block)}};
}

TEST(Page, IsOneDocumentThatLoadsNothing) {
  Page page = sample_page();
  page.blocks.erase(page.blocks.begin() + 6);  // the hostile text holds what is looked for
  std::string document = html(page);
  EXPECT_TRUE(document.starts_with("<!doctype html>"));
  EXPECT_NE(document.find("<title>What attention changed</title>"), std::string::npos);
  EXPECT_NE(document.find("Chart.js v3"), std::string::npos);
  for (const char* loads : {"<link rel=\"stylesheet", " src=", "@import", "url("})
    EXPECT_EQ(document.find(loads), std::string::npos) << loads;
  EXPECT_EQ(count(document, "{{style}}") + count(document, "{{chart}}"), 0u);
}

TEST(Page, NoTextBreaksOut) {
  size_t scripts = count(html(page_of(TextBlock{"", ""})), "<script");
  std::vector<Block> blocks = {TextBlock{kHostile, kHostile},
                               CurvesBlock{{.title = kHostile,
                                            .subtitle = kHostile,
                                            .x_label = kHostile,
                                            .y_label = kHostile,
                                            .series = {{.name = kHostile,
                                                        .points = {{1, 1}},
                                                        .detail = kHostile,
                                                        .colour = kHostile}},
                                            .notes = {{1, 1, kHostile}},
                                            .band = kHostile}},
                               TableBlock{kHostile, kHostile, {kHostile}, {{kHostile}}},
                               HeatmapBlock{kHostile,
                                            kHostile,
                                            {{.name = kHostile,
                                              .rows = {kHostile},
                                              .columns = {kHostile},
                                              .values = {{1}},
                                              .row_label = kHostile,
                                              .column_label = kHostile}}},
                               CodeBlock{kHostile, kHostile, true}};
  std::string document = html({.title = kHostile, .subtitle = kHostile, .blocks = blocks});
  EXPECT_EQ(count(document, "<script"), scripts);
  EXPECT_EQ(count(document, "</script"), scripts);
  EXPECT_EQ(document.find("<img"), std::string::npos);
  EXPECT_EQ(data_text(document).find('<'), std::string::npos);
  EXPECT_EQ(data_text(document).find("\u2028"), std::string::npos);
  Json data = parse_json(data_text(document), "page-data");
  std::string shown = data["blocks"][0]["text"];
  EXPECT_TRUE(shown.starts_with("</script><img src=x onerror=\"")) << shown;
  EXPECT_NE(shown.find("{{data}}"), std::string::npos);
}

TEST(Page, InvalidTextIsMended) {
  Json data = data_of(page_of(TextBlock{"a\xff", "\xc3"}));
  EXPECT_EQ(data["blocks"][0]["title"], "a\uFFFD");
  EXPECT_EQ(data["blocks"][0]["text"], "\uFFFD");
}

TEST(Page, NumbersAreUnroundedAndGapsAreNull) {
  Figure figure = sample_curves();
  figure.series[0].points[1].second = kNaN;
  Json series = data_of(page_of(CurvesBlock{figure}))["blocks"][0]["series"];
  ASSERT_EQ(series.size(), figure.series.size());
  for (size_t i = 0; i < figure.series.size(); ++i) {
    ASSERT_EQ(series[i]["points"].size(), figure.series[i].points.size());
    for (size_t k = 0; k < figure.series[i].points.size(); ++k) {
      auto [x, y] = figure.series[i].points[k];
      EXPECT_EQ(series[i]["points"][k][0], x);
      if (i == 0 && k == 1) {
        EXPECT_TRUE(series[i]["points"][k][1].is_null());
      } else {
        EXPECT_EQ(series[i]["points"][k][1], y);
      }
      EXPECT_EQ(series[i]["intervals"][k][1], figure.series[i].intervals[k].second);
    }
  }
  EXPECT_EQ(series[0]["dashes"], (Json{7, 5}));
}

TEST(Page, MapsCarryTheirScale) {
  Json map = data_of(page_of(HeatmapBlock{"", "", {sample_effects()}}))["blocks"][0]["maps"][0];
  EXPECT_EQ(map["scale"]["diverging"], true);
  EXPECT_EQ(map["scale"]["low"], -map["scale"]["high"].get<double>());
  EXPECT_TRUE(map["values"][2][3].is_null());
  EXPECT_EQ(map["values"][1][1], sample_effects().values[1][1]);
}

TEST(Page, FindsTheColumnsOfNumbers) {
  TableBlock table{"", "", {"model", "n", "share", "shape", "none", "remark", "version"}, {}};
  table.rows = {{"a", "63,412", "41% (39% to 43%)", "12 ms", "—", "2 layers of 4", "gru64"},
                {"b", "-1.2e-05", "nan", "-", "", "3", "1"}};
  EXPECT_EQ(number_columns(table),
            (std::vector<bool>{false, true, true, true, false, false, false}));
}

TEST(Page, EmptyBlocksAreFine) {
  for (const Block& block : std::vector<Block>{
           TextBlock{}, CurvesBlock{}, TableBlock{}, HeatmapBlock{}, CodeBlock{},
           HeatmapBlock{"", "", {{.name = "", .rows = {}, .columns = {}, .values = {}}}}})
    EXPECT_EQ(data_of(page_of(block))["blocks"].size(), 1u);
  EXPECT_EQ(data_of({})["blocks"].size(), 0u);
}

TEST(Page, RefusesSizesThatDoNotFit) {
  EXPECT_THROW(html(page_of(TableBlock{"", "", {"a", "b"}, {{"1"}}})), Error);
  EXPECT_THROW(html(page_of(HeatmapBlock{
                   "", "", {{.name = "", .rows = {"r"}, .columns = {}, .values = {}}}})),
               Error);
  Figure figure = sample_curves();
  figure.series[0].intervals.pop_back();
  EXPECT_THROW(html(page_of(CurvesBlock{figure})), Error);
}

}  // namespace
}  // namespace lookback
