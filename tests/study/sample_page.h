#pragma once

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "core/error.h"
#include "study/page.h"

namespace lookback {

/// A text that would run a script wherever it is taken for markup, and end the element it stands in.
inline const std::string kHostile =
    "</script><img src=x onerror=\"document.title='broken out'\">\u2028{{data}}]]>&amp;<!--";

inline Figure sample_curves() {
  Figure figure{
      .title = "Whole sentences right, by source length",
      .subtitle = "Three seeds a model, equal steps; copying letters of an alphabet of 20.",
      .x_label = "source length in tokens",
      .y_label = "sentences right",
      .series = {},
      .y_range = std::pair(0.0, 1.0),
      .percent = true};
  const std::vector<std::pair<std::string, double>> models = {
      {"no attention", 9}, {"Bahdanau's attention", 26}, {"Luong's attention, dot", 22}};
  for (const auto& [name, half] : models) {
    Series series{
        .name = name, .points = {}, .detail = format("GRU of 64 units, half at {}", half)};
    for (int length = 2; length <= 30; length += 2) {
      double share = 1 / (1 + std::exp((length - half) / 2.2));
      double room = 0.02 + 0.16 * share * (1 - share) * 2;
      series.points.emplace_back(length, share);
      series.intervals.emplace_back(std::max(0.0, share - room), std::min(1.0, share + room));
    }
    figure.series.push_back(series);
  }
  figure.series[0].dashed = true;
  figure.notes.push_back({8, 0.08, "the fixed context is full"});
  return figure;
}

inline Figure sample_losses() {
  Figure figure{.title = "Loss while training",
                .subtitle = "Negative log-probability of a target token, on powers of ten.",
                .x_label = "step",
                .y_label = "nll in nats",
                .series = {},
                .log_y = true};
  for (int model = 0; model < 9; ++model) {
    Series series{.name = format("layer {} of the encoder", model + 1), .points = {}};
    for (int step = 0; step <= 3000; step += 20) {
      double noise = 1 + 0.12 * std::sin(step * 0.37 + model) * std::cos(step * 0.11);
      double loss = 3.1 * std::exp(-step / (250.0 + 90 * model)) + 0.002 * (model + 1);
      series.points.emplace_back(step, loss * noise);
    }
    figure.series.push_back(series);
  }
  figure.series[3].points[40].second = std::numeric_limits<double>::quiet_NaN();
  return figure;
}

inline Heatmap sample_map(const std::string& name, double turn) {
  Heatmap map{.name = name,
              .rows = {"a", "man", "in", "an", "orange", "hat", "looking", "at", "something", "."},
              .columns = {"ein", "Mann", "mit", "einem", "orangefarbenen", "Hut", ",", "der",
                          "etwas", "anstarrt", "."},
              .values = {}};
  for (size_t i = 0; i < map.rows.size(); ++i) {
    std::vector<double> row;
    double sum = 0;
    for (size_t k = 0; k < map.columns.size(); ++k) {
      double away = static_cast<double>(k) - 1.08 * static_cast<double>(i) - turn;
      row.push_back(std::exp(-away * away / 1.3));
      sum += row.back();
    }
    for (double& value : row) value /= sum;
    map.values.push_back(row);
  }
  return map;
}

inline Heatmap sample_effects() {
  Heatmap map = sample_map("effect of leaving a word out", 0);
  for (size_t i = 0; i < map.rows.size(); ++i)
    for (size_t k = 0; k < map.columns.size(); ++k)
      map.values[i][k] = 3.2 * map.values[i][k] - 1.1 * std::cos(0.9 * static_cast<double>(i + k));
  map.values[2][3] = std::numeric_limits<double>::quiet_NaN();
  return map;
}

/// Every kind of block once and more, with texts in several scripts and one that is hostile.
inline Page sample_page() {
  Page page{.title = "What attention changed",
            .subtitle =
                "A run of copy_bahdanau beside one without attention: the same data, the same "
                "steps, the same seed.",
            .blocks = {}};
  page.blocks.push_back(TextBlock{
      "In short",
      "A decoder that gets one fixed vector forgets as the source grows; one that may look back "
      "does not. Up to 8 tokens both copy without a mistake. At 20 tokens the fixed context gets "
      "no sentence right, attention nearly all.\n\nEvery number here is of sentences that neither "
      "model saw in training. Über naïve 注意力 and Ελληνικά: texts are shown as they are."});
  page.blocks.push_back(CurvesBlock{sample_curves()});
  page.blocks.push_back(TableBlock{
      "Models compared",
      "Intervals are of 95%, by bootstrap over sentences.",
      {"model", "parameters", "sentences right", "nll", "seconds", "remark"},
      {{"no attention", "63,412", "41.2% (39.8% to 42.6%)", "0.8123", "38.1",
        "forgets from 10 tokens on"},
       {"Bahdanau", "71,732", "98.9% (98.5% to 99.2%)", "0.0125", "52.7",
        "looks back with an additive score, and needs the most time of the three for it"},
       {"Luong, dot", "63,508", "97.1% (96.5% to 97.6%)", "0.0380", "44.0", "—"}}});
  page.blocks.push_back(HeatmapBlock{
      "Where the decoder looked",
      "Each row sums to 1: how much of each source word is in the context of a target word.",
      {sample_map("layer 1, head 1", 0), sample_map("layer 1, head 2", 1.5),
       sample_map("layer 2, head 1", -1)}});
  page.blocks.push_back(HeatmapBlock{"What each source word does", "", {sample_effects()}});
  page.blocks.push_back(CurvesBlock{sample_losses()});
  page.blocks.push_back(TextBlock{"", "Hostile: " + kHostile});
  page.blocks.push_back(CodeBlock{
      "Say it again",
      "build/lookback train configs/copy_bahdanau.yaml --set seed=1 --run runs/again\n"
      "build/lookback evaluate runs/again --some-long-option=that-is-wider-than-a-phone"});
  page.blocks.push_back(
      CodeBlock{"config.yaml", "name: copy\nmodel:\n  attention: {type: bahdanau}  # <b>\n", true});
  return page;
}

/// What could break a layout: nothing at all, one of everything, far too much of everything.
inline Page extreme_page() {
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  std::string endless(400, 'x');
  Figure one{
      .title = "One point",
      .subtitle = endless,
      .x_label = endless,
      .y_label = endless,
      .series =
          {{.name = endless, .points = {{5, 0.25}}, .detail = endless, .intervals = {{0.2, 0.3}}}},
      .notes = {{5, 0.25, "a remark in a plot of one point, much longer than it should be"}}};
  Figure gaps{.title = "Gaps", .subtitle = "", .x_label = "x", .y_label = "y", .series = {}};
  gaps.series.push_back({.name = "a", .points = {{1, 1}, {2, nan}, {3, 3}, {nan, 4}, {5, 1e9}}});
  gaps.series.push_back({.name = "nothing", .points = {}});
  Figure log = gaps;
  log.log_y = true;
  log.series[0].points = {{1, 0}, {2, -3}, {3, 3.5}, {4, 4}};
  Figure many{.title = "Many", .subtitle = "", .x_label = "", .y_label = "", .series = {}};
  for (int i = 0; i < 40; ++i)
    many.series.push_back({.name = format("series {}", i), .points = {{0, i}, {1, 40 - i}}});
  Heatmap narrow{.name = endless, .rows = {"a"}, .columns = {"b"}, .values = {{0.5}}};
  Heatmap wide{.name = "wide", .rows = {endless, "", "注意力"}, .columns = {}, .values = {}};
  for (int k = 0; k < 200; ++k) wide.columns.push_back(k == 7 ? endless : format("tok{}", k));
  wide.values.assign(3, std::vector<double>(200, 0.005));
  wide.values[1].assign(200, nan);
  TableBlock columns{"Wide", "", {}, {{}}};
  for (int k = 0; k < 200; ++k) {
    columns.columns.push_back(format("column {}", k));
    columns.rows[0].push_back(format("{}", k * 1.5));
  }
  return {.title = endless,
          .subtitle = endless,
          .blocks = {TextBlock{endless, endless}, TextBlock{}, CurvesBlock{}, CurvesBlock{one},
                     CurvesBlock{gaps}, CurvesBlock{log}, CurvesBlock{many}, TableBlock{},
                     TableBlock{"No rows", "", {"a", "b"}, {}},
                     TableBlock{"Long", endless, {endless, "n"}, {{endless, "1"}, {"b", "22"}}},
                     columns, HeatmapBlock{}, HeatmapBlock{"Maps", "", {narrow, wide}},
                     HeatmapBlock{"", "", {{.name = "", .rows = {}, .columns = {}, .values = {}}}},
                     CodeBlock{}, CodeBlock{"", endless}, CodeBlock{"", endless, true}}};
}

}  // namespace lookback
