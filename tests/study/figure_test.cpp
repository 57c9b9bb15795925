#include "study/figure.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include "core/error.h"
#include "study/xml.h"

namespace lookback {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

Figure figure_of(std::vector<Series> series) {
  return {.title = "A title",
          .subtitle = "what it is",
          .x_label = "length",
          .y_label = "right",
          .series = std::move(series)};
}

TEST(Figure, XmlCheckerFindsMistakes) {
  EXPECT_EQ(xml_error("<svg a=\"1\"><g/></svg>\n"), "");
  EXPECT_NE(xml_error("<svg>"), "");
  EXPECT_NE(xml_error("<svg>a & b</svg>"), "");
  EXPECT_NE(xml_error("<svg><a></svg></a>"), "");
  EXPECT_NE(xml_error("<svg a=\"x\"y\"/>"), "");
}

TEST(Figure, IsWellFormedAndNamesEverything) {
  Figure figure = figure_of({{.name = "one", .points = {{1, 0.2}, {2, 0.8}}, .detail = "63k"},
                             {.name = "two", .points = {{1, 1}, {2, 0}}, .dashed = true}});
  figure.notes.push_back({1.5, 0.5, "here"});
  std::string text = svg(figure);
  EXPECT_EQ(xml_error(text), "");
  for (const char* words :
       {"A title", "what it is", "length", "right", "one", "two", "63k", "here"})
    EXPECT_GE(count(text, std::string(">") + words + "<"), 1u) << words;
  EXPECT_EQ(count(text, "stroke-dasharray"), 1u);
  EXPECT_EQ(text.find("nan"), std::string::npos);
}

TEST(Figure, EscapesTextAndDropsControlCharacters) {
  std::string nasty = "a < b & \"c\" > d\x01";
  Figure figure = figure_of({{.name = nasty, .points = {{1, 1}, {2, 2}}, .detail = nasty}});
  figure.title = figure.subtitle = figure.x_label = figure.y_label = nasty;
  figure.notes.push_back({1, 1, nasty});
  std::string text = svg(figure);
  EXPECT_EQ(xml_error(text), "");
  EXPECT_EQ(count(text, "a &lt; b &amp; &quot;c&quot; &gt; d "), 8u);  // the title stands twice
}

TEST(Figure, TicksAreRoundNumbers) {
  EXPECT_EQ(round_ticks(0, 10, 5), (std::vector<double>{0, 2, 4, 6, 8, 10}));
  EXPECT_EQ(round_ticks(1, 20, 10), (std::vector<double>{2, 4, 6, 8, 10, 12, 14, 16, 18, 20}));
  EXPECT_EQ(round_ticks(-1, 1, 4), (std::vector<double>{-1, -0.5, 0, 0.5, 1}));
  EXPECT_EQ(round_ticks(0, 95000, 5), (std::vector<double>{0, 20000, 40000, 60000, 80000}));
  std::vector<double> small = round_ticks(0, 3e-7, 3);
  ASSERT_EQ(small.size(), 4u);
  EXPECT_NEAR(small[3], 3e-7, 1e-18);
  EXPECT_THROW(round_ticks(1, 1, 5), Error);
  EXPECT_THROW(round_ticks(0, kNaN, 5), Error);
}

TEST(Figure, TickTextsHaveNoNoise) {
  Figure figure = figure_of({{.name = "a", .points = {{0, 0}, {1, 0.3}}}});
  std::string text = svg(figure);  // 0.1 + 0.2 would be 0.30000000000000004
  for (const char* tick : {">0.00<", ">0.05<", ">0.30<"}) EXPECT_EQ(count(text, tick), 1u) << tick;
  figure.y_range = std::pair(0.0, 1.0);
  figure.percent = true;
  text = svg(figure);
  for (const char* tick : {">0%<", ">20%<", ">100%<"}) EXPECT_EQ(count(text, tick), 1u) << tick;
}

TEST(Figure, AnEmptySeriesIsNamed) {
  std::string text = svg(figure_of({{.name = "nothing", .points = {}},
                                    {.name = "void", .points = {{1, kNaN}}},
                                    {.name = "some", .points = {{1, 1}, {2, 2}}}}));
  EXPECT_EQ(xml_error(text), "");
  EXPECT_EQ(count(text, ">nothing (no data)<"), 1u);
  EXPECT_EQ(count(text, ">void (no data)<"), 1u);
  EXPECT_EQ(count(text, "stroke-linejoin"), 1u);
  EXPECT_EQ(text.find("nan"), std::string::npos);
  EXPECT_EQ(xml_error(svg(figure_of({}))), "");
}

TEST(Figure, APointThatIsNotFiniteIsAGap) {
  std::string text = svg(figure_of({{.name = "a",
                                     .points = {{1, 1},
                                                {2, 2},
                                                {3, kNaN},
                                                {4, std::numeric_limits<double>::infinity()},
                                                {5, 1},
                                                {6, 2}}}}));
  std::smatch match;
  ASSERT_TRUE(std::regex_search(text, match, std::regex("<path d=\"([^\"]*)\" fill=\"none\"")));
  EXPECT_EQ(count(match[1], "M"), 2u) << match[1];
  EXPECT_EQ(count(match[1], "L"), 2u) << match[1];
  EXPECT_EQ(count(text, "<circle"), 4u);
  EXPECT_EQ(text.find("nan"), std::string::npos);
  EXPECT_EQ(text.find("inf"), std::string::npos);
}

TEST(Figure, OnePointIsAMarkerInsideThePlot) {
  std::string text = svg(figure_of({{.name = "a", .points = {{7, 3}}}}));
  EXPECT_EQ(xml_error(text), "");
  EXPECT_EQ(count(text, "<circle"), 1u);
  EXPECT_EQ(text.find("nan"), std::string::npos);
}

TEST(Figure, RefusesARangeThatDoesNotRise) {
  Figure figure = figure_of({{.name = "a", .points = {{1, 1}}}});
  figure.y_range = std::pair(1.0, 1.0);
  EXPECT_THROW(svg(figure), Error);
}

TEST(Figure, LabelsKeepApartAndInside) {
  // Alone, a label stays where its line ends.
  EXPECT_EQ(spread_labels({50}, {20}, 0, 100), (std::vector<double>{50}));
  std::vector<double> heights = {37, 19, 37, 19};
  for (std::vector<double> wanted : {std::vector<double>{300, 300, 0, 0},
                                     {0, 0, 0, 0},
                                     {300, 300, 300, 300},
                                     {150, 151, 149, 150}}) {
    std::vector<double> at = spread_labels(wanted, heights, 0, 300);
    for (size_t i = 0; i < at.size(); ++i) {
      EXPECT_GE(at[i] - heights[i] / 2, 0);
      EXPECT_LE(at[i] + heights[i] / 2, 300);
      for (size_t k = 0; k < i; ++k)
        EXPECT_GE(std::abs(at[i] - at[k]), (heights[i] + heights[k]) / 2 - 1e-9) << i << " " << k;
      for (size_t k = 0; k < at.size(); ++k)
        EXPECT_TRUE(wanted[i] >= wanted[k] || at[i] < at[k]) << i << " " << k;
    }
  }
}

TEST(Figure, ManyLabelsMakeTheFigureTaller) {
  std::vector<Series> series;
  for (int i = 0; i < 30; ++i)
    series.push_back({.name = format("s{}", i), .points = {{1, 1}, {2, 2}}});
  std::string text = svg(figure_of(series));
  std::regex label(
      "<text x=\"[0-9.]+\" y=\"([0-9.]+)\" font-size=\"13\" fill=\"#[0-9a-f]+\" font-weight");
  std::vector<double> at;
  for (std::sregex_iterator i(text.begin(), text.end(), label), end; i != end; ++i)
    at.push_back(std::stod((*i)[1]));
  ASSERT_EQ(at.size(), 30u);
  std::sort(at.begin(), at.end());
  for (size_t i = 1; i < at.size(); ++i) EXPECT_GE(at[i] - at[i - 1], 18.8);
}

TEST(Figure, IntervalsAreBandsThatABreakParts) {
  Figure figure = figure_of({{.name = "a",
                              .points = {{1, 1}, {2, 2}, {3, kNaN}, {4, 3}, {5, 2}, {6, 2}},
                              .intervals = {{0, 2}, {1, 3}, {1, 3}, {2, 4}, {1, kNaN}, {1, 7}}}});
  std::string text = svg(figure);
  EXPECT_EQ(xml_error(text), "");
  EXPECT_EQ(count(text, "fill-opacity=\"0.16\""), 1u);   // points 1 and 2
  EXPECT_EQ(count(text, "stroke-opacity=\"0.3\""), 2u);  // 4 and 6 stand alone
  EXPECT_EQ(text.find("nan"), std::string::npos);
  EXPECT_EQ(count(text, ">8<") + count(text, ">7<"), 1u);  // the axis holds the intervals too
  // The band goes along its upper ends and back along its lower ones: 4 corners.
  std::smatch match;
  ASSERT_TRUE(std::regex_search(text, match, std::regex("<path d=\"([^\"]*)z\" fill")));
  EXPECT_EQ(count(match[1], "M") + count(match[1], "L"), 4u);
  figure.series[0].intervals.pop_back();
  EXPECT_THROW(svg(figure), Error);
}

TEST(Figure, PowersOfTenAreEvenlySpacedAndHaveNoPlaceForZero) {
  Figure figure =
      figure_of({{.name = "a", .points = {{1, 0.01}, {2, 0.1}, {3, 0}, {4, -1}, {5, 10}}}});
  figure.log_y = true;
  std::string text = svg(figure);
  EXPECT_EQ(xml_error(text), "");
  for (const char* tick : {">0.01<", ">0.1<", ">1<", ">10<"})
    EXPECT_GE(count(text, tick), 1u) << tick;
  std::regex circle("<circle cx=\"[0-9.]+\" cy=\"([0-9.]+)\"");
  std::vector<double> at;
  for (std::sregex_iterator i(text.begin(), text.end(), circle), end; i != end; ++i)
    at.push_back(std::stod((*i)[1]));
  ASSERT_EQ(at.size(), 3u);  // 0 and -1 are gaps
  EXPECT_NEAR(at[0] - at[2], 3 * (at[0] - at[1]), 0.3);
  figure.y_range = std::pair(0.0, 1.0);
  EXPECT_THROW(svg(figure), Error);
}

TEST(Figure, ManySeriesOfOneColourDifferInDashes) {
  std::vector<Series> series;
  for (int i = 0; i < 18; ++i) series.push_back({.name = format("s{}", i), .points = {{1, 1}}});
  series[1].dashed = true;
  Figure figure = figure_of(std::move(series));
  std::set<std::pair<std::string, std::vector<int>>> seen;
  for (size_t i = 0; i < figure.series.size(); ++i)
    EXPECT_TRUE(seen.emplace(look(figure, i).colour, look(figure, i).dashes).second) << i;
  EXPECT_EQ(look(figure, 0).dashes, std::vector<int>{});
  figure.series[0].colour = "#123456";
  EXPECT_EQ(look(figure, 0).colour, "#123456");
}

}  // namespace
}  // namespace lookback
