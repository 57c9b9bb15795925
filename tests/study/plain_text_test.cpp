#include <gtest/gtest.h>

#include <limits>
#include <regex>
#include <string>
#include <vector>

#include "core/error.h"
#include "study/page.h"
#include "study/sample_page.h"
#include "study/text_width.h"
#include "study/xml.h"

namespace lookback {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

std::string text_of(Block block, int width = 80) {
  return plain_text({.title = "", .subtitle = "", .blocks = {std::move(block)}}, width);
}

Figure figure_of(std::vector<Series> series) {
  return {.title = "", .subtitle = "", .x_label = "", .y_label = "", .series = std::move(series)};
}

TEST(PlainText, TextFlowsAndTitlesAreUnderlined) {
  EXPECT_EQ(plain_text({.title = "Überschrift",
                        .subtitle = "what it is",
                        .blocks = {TextBlock{"", "one\ntwo\n\n\nthree"}}}),
            "Überschrift\n===========\nwhat it is\n\none two\n\nthree\n");
  EXPECT_EQ(text_of(TextBlock{"", "aaaa bbbb cccc dddd eeee ffff"}, 20),
            "aaaa bbbb cccc dddd\neeee ffff\n");
  EXPECT_EQ(plain_text({}), "");
}

TEST(PlainText, TablesStandInColumns) {
  EXPECT_EQ(text_of(TableBlock{"T", "a note", {"name", "nll"}, {{"注意", "1.5"}, {"b", "10.25"}}}),
            "T\n-\nname    nll\n----  -----\n注意    1.5\nb     10.25\n\na note\n");
  EXPECT_EQ(text_of(TableBlock{"", "", {"a"}, {}}), "a\n-\n(no rows)\n");
  EXPECT_EQ(text_of(TableBlock{"", "", {}, {}}), "(no columns)\n");
}

TEST(PlainText, ATableTooWideWrapsItsWords) {
  std::string text = text_of(
      TableBlock{"", "", {"n", "remark"}, {{"1", "many words that go on for more than a line"}}},
      30);
  for (const std::string& line : wrapped(text, std::string::npos)) EXPECT_LE(text_width(line), 30u);
  EXPECT_NE(text.find("many words"), std::string::npos);
  EXPECT_NE(text.find("a line"), std::string::npos);
}

TEST(PlainText, APlotHasLettersAxesAndALegend) {
  Figure figure = figure_of({{.name = "up", .points = {{0, 0}, {10, 1}}, .detail = "63k"},
                             {.name = "down", .points = {{0, 1}, {5, 0.5}, {10, 0}}},
                             {.name = "none", .points = {{1, kNaN}}}});
  figure.x_label = "step";
  figure.y_label = "share";
  figure.percent = true;
  std::string text = text_of(CurvesBlock{figure});
  for (const char* part : {"share\n", "100% +b", " 0% +a", "step\n", "a  up - 63k\n", "b  down\n",
                           "c  none (no data)\n"})
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
  EXPECT_EQ(text.find("several"), std::string::npos);
  figure.series[0].points = {{5, 0.5}, {10, 1}};  // where b stands
  text = text_of(CurvesBlock{figure});
  EXPECT_NE(text.find("+  several\n"), std::string::npos) << text;
  EXPECT_TRUE(std::regex_search(text, std::regex("[|][. ]+[+]"))) << text;
}

TEST(PlainText, APlotStandsAnyNumbers) {
  for (const Figure& figure : {figure_of({}), figure_of({{.name = "a", .points = {{3, 7}}}}),
                               figure_of({{.name = "a", .points = {{1, kNaN}, {kNaN, 2}}}})}) {
    std::string text = text_of(CurvesBlock{figure}, 20);
    EXPECT_EQ(text.find("nan"), std::string::npos);
    EXPECT_GE(count(text, "\n"), 17u);
  }
  std::vector<Series> many(70, {.name = "s", .points = {{1, 1}}});
  EXPECT_GE(count(text_of(CurvesBlock{figure_of(many)}), "\n"), 80u);
}

TEST(PlainText, AMapHasShadesAndTokens) {
  Heatmap map{.name = "head 1",
              .rows = {"x", "yy"},
              .columns = {"ab", "c"},
              .values = {{1, 0}, {0.5, kNaN}}};
  EXPECT_EQ(text_of(HeatmapBlock{"M", "n", {map}}),
            "M\n-\nhead 1\n   a\n   b c\n x ██·\nyy ▒▒\n"
            "· below 0.2  ░ from 0.2  ▒ 0.4  ▓ 0.6  █ 0.8 to 1\n\nn\n");
  map.values = {{-2, 0}, {2, 1}};
  std::string text = text_of(HeatmapBlock{"", "", {map}});
  EXPECT_NE(text.find(" x ##·\nyy ██▒▒\n"), std::string::npos) << text;
  EXPECT_NE(text.find("below zero"), std::string::npos);
  EXPECT_EQ(text_of(HeatmapBlock{"", "", {}}), "(no map)\n");
  EXPECT_EQ(text_of(HeatmapBlock{"", "", {{.name = "", .rows = {}, .columns = {}, .values = {}}}}),
            "(no data)\n");
}

TEST(PlainText, AWideMapGoesOnBelow) {
  Heatmap map{.name = "", .rows = {"r"}, .columns = {}, .values = {{}}};
  for (int k = 0; k < 200; ++k) {
    map.columns.push_back(format("{}", k));
    map.values[0].push_back(1);
  }
  std::string text = text_of(HeatmapBlock{"", "", {map}}, 60);
  EXPECT_EQ(count(text, "█"), 2u * 200 + 1);  // and in the key
  EXPECT_EQ(count(text, "\nr "), 7u);         // 29 cells a piece
  for (const std::string& line : wrapped(text, std::string::npos)) EXPECT_LE(text_width(line), 60u);
}

TEST(PlainText, OfManyMapsTheFirstIsShown) {
  Heatmap map{.name = "m", .rows = {"r"}, .columns = {"c"}, .values = {{1}}};
  std::string text = text_of(HeatmapBlock{"", "", std::vector<Heatmap>(48, map)});
  EXPECT_EQ(count(text, "█"), 2u + 1);
  EXPECT_NE(text.find("(and 47 maps more)"), std::string::npos);
}

TEST(PlainText, CodeIsIndentedAndFoldedCodeLeftOut) {
  EXPECT_EQ(text_of(CodeBlock{"C", "a\n\n  b"}), "C\n-\n    a\n\n      b\n");
  EXPECT_EQ(text_of(CodeBlock{"C", "a", true}), "");
}

TEST(PlainText, NothingCommandsTheTerminalAndLinesKeepToTheWidth) {
  for (int width : {40, 80, 120}) {
    Page page = sample_page();
    page.title += "\x1b]0;owned\x07";
    std::string text = plain_text(page, width);
    for (char c : text) EXPECT_TRUE(c == '\n' || static_cast<unsigned char>(c) >= 0x20);
    // Tables of numbers, whose cells are two blanks apart, and code may be wider.
    for (const std::string& line : wrapped(text, std::string::npos)) {
      if (line.find("  ") == std::string::npos) {
        EXPECT_LE(text_width(line), static_cast<size_t>(width)) << line;
      }
    }
  }
}

TEST(PlainText, RefusesRowsThatDoNotFitTheirColumns) {
  EXPECT_THROW(text_of(TableBlock{"", "", {"a", "b"}, {{"1"}}}), Error);
  EXPECT_THROW(
      text_of(HeatmapBlock{"", "", {{.name = "", .rows = {"r"}, .columns = {}, .values = {}}}}),
      Error);
}

}  // namespace
}  // namespace lookback
