// Every lab holds here, and every lab could fail: measurements that a broken layer would give are
// handed to its verdict, which must say so.

#include "study/labs.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <set>
#include <utility>

#include "study/labs/built_in.h"
#include "study/labs/samples.h"
#include "support/sanitized.h"

namespace lookback {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

std::string text_of(const LabReport& report) {
  std::string text;
  for (const Finding& f : report.findings)
    text += format("{} {}: claimed {}, measured {}\n", f.holds ? "ok" : "FAILS", f.what, f.claimed,
                   f.measured);
  return text;
}

template <class Measured>
using Spoils = std::vector<std::pair<const char*, std::function<void(Measured&)>>>;

/// The lab holds as measured, and fails once one of its measurements is spoilt.
template <class Measured>
void expect_told_apart(const Measured& good, const Spoils<Measured>& spoils) {
  LabReport report = judge(good);
  EXPECT_TRUE(report.holds()) << text_of(report);
  EXPECT_FALSE(report.numbers.empty());
  for (const auto& [what, spoil] : spoils) {
    Measured bad = good;
    spoil(bad);
    LabReport spoilt = judge(bad);
    EXPECT_FALSE(spoilt.holds()) << what << "\n" << text_of(spoilt);
    EXPECT_NO_THROW(parse_json(json_text(spoilt.numbers), what)) << what;
  }
}

TEST(Labs, Hand) {
  expect_told_apart<HandMeasured>(
      measure_hand({}),
      {{"no scale", [](auto& m) { m.weights = m.unscaled; }},
       {"a scale where there should be none", [](auto& m) { m.unscaled = m.weights; }},
       {"the text's slip", [](auto& m) { m.output[5] = 4.511; }},
       {"K where V should be", [](auto& m) { m.output = {.599, .401, .401, .599, .751, .751}; }},
       {"row 1 depends on the temperature", [](auto& m) { m.first_rows.back()[0] = 3.01; }},
       {"the layer goes its own way", [](auto& m) { m.layer_output[0] = 2.9; }},
       {"blocks go their own way", [](auto& m) { m.blockwise_output[3] += 1e-4; }},
       {"NaN in P", [](auto& m) { m.weights[4] = kNaN; }},
       {"NaN in row 1", [](auto& m) { m.first_rows[2][1] = kNaN; }},
       {"NaN in the layer", [](auto& m) { m.layer_output[2] = kNaN; }}});
}

TEST(Labs, Variance) {
  expect_told_apart<VarianceMeasured>(
      measure_variance({}),
      {{"divided by d_k",
        [](auto& m) {
          for (auto& row : m.rows) row.scaled /= std::sqrt(static_cast<double>(row.units));
        }},
       {"not divided",
        [](auto& m) {
          for (auto& row : m.rows) row.scaled *= std::sqrt(static_cast<double>(row.units));
        }},
       {"6% off", [](auto& m) { m.rows[1].deviation *= 1.06; }},
       {"a mean", [](auto& m) { m.rows[3].mean = 4; }},
       {"weights tell other scores", [](auto& m) { m.rows[0].disagreement = 0.1; }},
       {"NaN", [](auto& m) { m.rows[2].scaled = kNaN; }},
       {"NaN mean", [](auto& m) { m.rows[2].mean = kNaN; }}});
}

TEST(Labs, Saturation) {
  expect_told_apart<SaturationMeasured>(
      measure_saturation({}),
      {{"no slope", [](auto& m) { m.slopes.assign(m.slopes.size(), 0); }},
       {"p2 where p2 (1 - p2) should be", [](auto& m) { m.slopes[2] = 0.731; }},
       {"entropy rises", [](auto& m) { std::swap(m.entropies[0], m.entropies[2]); }},
       {"more entropy than there can be", [](auto& m) { m.entropies[0] = 2.8; }},
       {"gradients do not vanish", [](auto& m) { m.query_raw = m.query_scaled; }},
       {"nor at K", [](auto& m) { m.key_raw = m.key_scaled; }},
       {"the scale is not applied", [](auto& m) { m.query_scaled = m.query_raw; }},
       {"nobody's vanishes", [](auto& m) { m.vanished = m.vanished_scaled; }},
       {"the scale does not help", [](auto& m) { m.vanished_scaled = m.vanished; }},
       {"NaN", [](auto& m) { m.key_raw.back() = kNaN; }},
       {"NaN in the middle", [](auto& m) { m.query_scaled[1] = kNaN; }}});
}

TEST(Labs, Extremes) {
  expect_told_apart<ExtremesMeasured>(
      measure_extremes({}), {{"scores twice as large",
                              [](auto& m) {
                                for (auto& row : m.rows) row.largest *= 2;
                              }},
                             {"scores half as large",
                              [](auto& m) {
                                for (auto& row : m.rows) row.largest /= 2;
                              }},
                             {"the ratio falls", [](auto& m) { m.rows[2].largest = 2.6; }},
                             {"NaN", [](auto& m) { m.rows[4].largest = kNaN; }}});
}

TEST(Labs, Scores) {
  expect_told_apart<ScoresMeasured>(
      measure_scores({}),
      {{"concat has other weights", [](auto& m) { m.concat_weights = 1e-5; }},
       {"and contexts", [](auto& m) { m.concat_context = 1e-5; }},
       {"and gradients", [](auto& m) { m.concat_gradient = 1e-3; }},
       {"dot takes any sizes", [](auto& m) { m.layer_refusal.clear(); }},
       {"a config may say so", [](auto& m) { m.config_refusal.clear(); }},
       {"the error does not say which", [](auto& m) { m.layer_refusal = "[luong] bad sizes"; }},
       {"general refuses too", [](auto& m) { m.general_fits = false; }},
       {"a scaled query", [](auto& m) { m.query_factor_low = 1.4; }},
       {"keys do not count", [](auto& m) { m.key_factor_low = m.key_factor_high = 1; }},
       {"NaN", [](auto& m) { m.key_factor_high = kNaN; }}});
}

TEST(Labs, Mask) {
  for (auto part : {&MaskMeasured::plain, &MaskMeasured::bf16})
    expect_told_apart<MaskMeasured>(
        measure_mask({}),
        {{"a large negative number", [=](auto& m) { (m.*part).future = 1e-20; }},
         {"rows not normalised", [=](auto& m) { (m.*part).rows_off = 0.01; }},
         {"the future leaks", [=](auto& m) { (m.*part).unseen_change = 1e-7; }},
         {"a mask after softmax is harmless", [=](auto& m) { (m.*part).after_low = 1; }},
         {"zeros hide the future", [=](auto& m) { (m.*part).zero_future = 0; }},
         {"zeros do not leak", [=](auto& m) { (m.*part).zero_change = 0; }},
         {"something from nothing", [=](auto& m) { (m.*part).hidden_output = 0.1; }},
         {"NaN from nothing", [=](auto& m) { (m.*part).hidden_output = kNaN; }},
         {"NaN gradients", [=](auto& m) { (m.*part).hidden_finite = false; }},
         {"a gradient from nothing", [=](auto& m) { (m.*part).hidden_gradient = 1; }}});
}

TEST(Labs, Equivariance) {
  expect_told_apart<EquivarianceMeasured>(
      measure_equivariance({}),
      {{"attention minds the order", [](auto& m) { m.attention = m.positions; }},
       {"the layer does", [](auto& m) { m.layer = 0.1; }},
       {"positions do nothing", [](auto& m) { m.positions = m.attention; }},
       {"the mask does nothing", [](auto& m) { m.causal = m.attention; }},
       {"NaN", [](auto& m) { m.attention = kNaN; }}});
}

TEST(Labs, KeysValues) {
  expect_told_apart<KeysValuesMeasured>(
      measure_keys_values({}),
      {{"a negative weight", [](auto& m) { m.lowest_weight = -0.1; }},
       {"rows not normalised", [](auto& m) { m.rows_off = 0.1; }},
       {"no combination of V", [](auto& m) { m.combination_off = 0.1; }},
       {"outside the hull", [](auto& m) { m.outside_hull = 0.1; }},
       {"K and V change places", [](auto& m) { std::swap(m.new_values, m.new_keys); }},
       {"V alone points", [](auto& m) { m.new_keys = 0; }},
       {"new keys bring new content", [](auto& m) { m.new_keys_outside = 1; }},
       {"keys leave a trace", [](auto& m) { m.equal_values = 0.1; }},
       {"NaN", [](auto& m) { m.outside_hull = kNaN; }}});
}

TEST(Labs, Axis) {
  expect_told_apart<AxisMeasured>(
      measure_axis({}), {{"softmax along the queries", [](auto& m) { m.key_sums = m.query_sums; }},
                         {"no difference", [](auto& m) { m.query_sums = m.key_sums; }},
                         {"another softmax", [](auto& m) { m.along_keys_off = 0.1; }},
                         {"NaN", [](auto& m) { m.key_sums[0] = kNaN; }}});
}

/// How long a pass took depends on what else the machine does: replaced by what is claimed.
ComplexityMeasured with_ideal_times(ComplexityMeasured m) {
  for (auto* rows : {&m.attention, &m.wide})
    for (auto& row : *rows)
      row.milliseconds = 1e-6 * static_cast<double>(row.length * row.length * row.units);
  for (auto& row : m.recurrent) row.milliseconds = 1e-2 * static_cast<double>(row.length);
  return m;
}

TEST(Labs, Complexity) {
  ComplexityMeasured measured = measure_complexity_to(2048, {});
  for (const auto* rows : {&measured.attention, &measured.wide, &measured.recurrent})
    for (const auto& row : *rows) EXPECT_GT(row.milliseconds, 0);
  expect_told_apart<ComplexityMeasured>(
      with_ideal_times(measured),
      {{"one operation more", [](auto& m) { ++m.attention[1].flops; }},
       {"a causal half", [](auto& m) { m.many.flops /= 2; }},
       {"width costs nothing", [](auto& m) { m.wide.back().flops = m.attention.back().flops; }},
       {"memory linear in T",
        [](auto& m) {
          for (auto& row : m.attention) row.bytes = static_cast<uint64_t>(row.length) * 1000;
        }},
       {"memory grows with d", [](auto& m) { m.wide.back().bytes *= 2; }},
       {"time linear in T",
        [](auto& m) {
          for (auto& row : m.attention) row.milliseconds = static_cast<double>(row.length);
        }},
       {"time cubic in T",
        [](auto& m) {
          for (auto& row : m.attention) row.milliseconds *= static_cast<double>(row.length);
        }},
       {"width for free in time", [](auto& m) { m.wide.back().milliseconds /= 3; }},
       {"an RNN that is quadratic in time",
        [](auto& m) {
          for (auto& row : m.recurrent) row.milliseconds *= static_cast<double>(row.length);
        }},
       {"and in operations",
        [](auto& m) {
          for (auto& row : m.recurrent) row.flops *= static_cast<uint64_t>(row.length);
        }},
       {"and in memory",
        [](auto& m) {
          for (auto& row : m.recurrent) row.bytes *= static_cast<uint64_t>(row.length);
        }},
       {"NaN", [](auto& m) { m.attention[0].milliseconds = kNaN; }}});
}

TEST(Labs, Memory) {
  // Below T = 2048 what is linear in T weighs too much beside T^2.
  expect_told_apart<MemoryMeasured>(
      measure_memory_to(4096, {}),
      {{"blocks keep all", [](auto& m) { m.rows.back().kept[1] = m.rows.back().kept[0]; }},
       {"nothing is kept", [](auto& m) { m.rows[0].kept[0] = 0; }},
       {"twice is kept",
        [](auto& m) {
          for (auto& row : m.rows) row.kept[0] *= 2;
        }},
       {"blocks peak as high",
        [](auto& m) {
          for (auto& row : m.rows) row.peak[1] = row.peak[0];
        }},
       {"blocks grow with T^2", [](auto& m) { m.rows.back().peak[1] *= 2; }},
       {"the peak is linear", [](auto& m) { m.rows.back().peak[0] /= 2; }},
       {"other outputs", [](auto& m) { m.rows[1].output = 1e-3; }},
       {"other gradients", [](auto& m) { m.rows[1].gradient = 1e-3; }},
       {"NaN", [](auto& m) { m.rows[0].gradient = kNaN; }}});
}

TEST(Labs, KeyValueCache) {
  expect_told_apart<CacheMeasured>(
      measure_cache({}), {{"the cache does not shrink",
                           [](auto& m) {
                             for (auto& row : m.rows) row.bytes = m.rows[0].bytes;
                           }},
                          {"all tokens are copied", [](auto& m) { m.rows[0].bytes *= 2; }},
                          {"the wrong head is shared", [](auto& m) { m.rows[1].repeated = 0.1; }},
                          {"a token is forgotten", [](auto& m) { m.rows[2].unbroken = 0.1; }},
                          {"NaN", [](auto& m) { m.rows[1].repeated = kNaN; }}});
}

TEST(Labs, HoldWhateverIsDrawn) {
  if (testing::kSanitized) GTEST_SKIP() << "numbers alone; the tests above measure the same once";
  for (uint64_t seed : {2, 3}) {
    LabOptions options{.seed = seed};
    for (const LabReport& report :
         {judge(measure_variance(options)), judge(measure_saturation(options)),
          judge(measure_scores(options)), judge(measure_mask(options)),
          judge(measure_equivariance(options)), judge(measure_keys_values(options)),
          judge(measure_axis(options)), judge(measure_cache(options))})
      EXPECT_TRUE(report.holds()) << seed << "\n" << text_of(report);
  }
}

TEST(Labs, AreInTheTutorialsOrder) {
  std::vector<std::string> order = lab_order();
  EXPECT_EQ(std::set<std::string>(order.begin(), order.end()).size(), order.size());
  EXPECT_EQ(order.size(), labs().names().size());
  auto place = [&](const char* name) {
    auto found = std::find(order.begin(), order.end(), name);
    EXPECT_NE(found, order.end()) << name;
    return found - order.begin();
  };
  const char* some[] = {"scores",   "keys_values", "variance",     "saturation",
                        "extremes", "mask",        "equivariance", "complexity",
                        "memory",   "hand",        "kv_cache",     "axis"};
  for (size_t i = 1; i < std::size(some); ++i) EXPECT_LT(place(some[i - 1]), place(some[i]));
  for (const auto& [name, entry] : labs().entries()) {
    EXPECT_TRUE(entry.description.ends_with(".")) << name;
    EXPECT_TRUE(entry.factory.section.starts_with("2.4.")) << name;
  }
}

TEST(Labs, GiveUpWhenStopped) {
  std::atomic<bool> stop = true;
  for (const auto& [name, entry] : labs().entries())
    EXPECT_THROW(entry.factory.run({.full = true, .stop = &stop}), Interrupted) << name;
  stop = false;
  EXPECT_NO_THROW(labs().get("axis").run({.stop = &stop}));
  stop = true;  // ... in the middle, too
  for (auto* measure : {+[](const LabOptions& o) { measure_variance(o); },
                        +[](const LabOptions& o) { measure_saturation(o); },
                        +[](const LabOptions& o) { measure_extremes(o); },
                        +[](const LabOptions& o) { measure_complexity(o); },
                        +[](const LabOptions& o) { measure_memory(o); },
                        +[](const LabOptions& o) { measure_cache(o); }})
    EXPECT_THROW(measure({.stop = &stop}), Interrupted);
}

TEST(Labs, AReportOfNothingDoesNotHold) {
  LabReport report;
  EXPECT_FALSE(report.holds());
  report.findings.push_back({.what = "a", .claimed = "b", .measured = "c", .holds = true});
  EXPECT_TRUE(report.holds());
  report.findings.push_back({.what = "a", .claimed = "b", .measured = "c", .holds = false});
  EXPECT_FALSE(report.holds());
}

TEST(Labs, DrawTheSameOnAnyThreads) {
  EXPECT_EQ(json_text(labs().get("keys_values").run({}).numbers),
            json_text(labs().get("keys_values").run({}).numbers));
  EXPECT_NE(json_text(labs().get("keys_values").run({}).numbers),
            json_text(labs().get("keys_values").run({.seed = 2}).numbers));
}

TEST(LabJudge, NothingHoldsOfANaN) {
  Judge judge;
  judge.near("near", 1, kNaN, 1e9);
  judge.near("several", {1, 2}, {1, kNaN}, 1e9, 3);
  judge.within_share("share", 1, kNaN, 1e9);
  judge.at_most("most", 1e9, kNaN);
  judge.at_least("least", -1e9, kNaN);
  judge.between("between", -1e9, 1e9, kNaN);
  for (const Finding& finding : std::move(judge).report().findings)
    EXPECT_FALSE(finding.holds) << finding.what;
  EXPECT_FALSE(rises({1, kNaN, 3}));
  EXPECT_FALSE(falls({3, kNaN, 1}));
}

TEST(LabJudge, KnowsItsLimits) {
  Judge judge;
  judge.near("near", 4, 4.2, 0.25);
  judge.near("near", 4, 4.3, 0.25);
  judge.within_share("share", 100, 95.1, 0.05);
  judge.within_share("share", 100, 94.9, 0.05);
  judge.near("several", {1, 2}, {1, 2.01}, 0.1, 1);
  judge.near("several", {1, 2}, {1}, 0.1, 1);
  judge.exactly("exactly", 1234567, 1234567);
  judge.exactly("exactly", 1234567, 1234568);
  LabReport report = std::move(judge).report("more");
  for (size_t i = 0; i < report.findings.size(); ++i)
    EXPECT_EQ(report.findings[i].holds, i % 2 == 0) << report.findings[i].measured;
  EXPECT_EQ(report.findings[0].claimed, "4 ± 0.25");
  EXPECT_EQ(report.findings[2].claimed, "100 within 5%");
  EXPECT_EQ(report.findings[7].measured, "1,234,568");
  EXPECT_EQ(report.left_out, "more");
  EXPECT_EQ(grouped(0), "0");
  EXPECT_EQ(grouped(999), "999");
  EXPECT_EQ(grouped(1000), "1,000");
  EXPECT_NEAR(exponent({1, 2, 4, 8}, {5, 20, 80, 320}), 2, 1e-12);
  EXPECT_EQ(median({5, 1, 3}), 3);
}

TEST(LabSamples, RoundToTheNearestNumberOfBf16) {
  float ulp = std::ldexp(1.0f, -7);  // of numbers in [1, 2)
  Tensor x = Tensor::from(
      {6}, {1, 1 + ulp / 2, 1 + ulp * 3 / 2, 1 + ulp * 0.51f, -1 - ulp * 0.49f, -3.3895314e38f});
  Tensor y = rounded_to_bf16(x);
  EXPECT_EQ(y.at({0}), 1);
  EXPECT_EQ(y.at({1}), 1);            // a tie: to even
  EXPECT_EQ(y.at({2}), 1 + 2 * ulp);  // a tie: to even
  EXPECT_EQ(y.at({3}), 1 + ulp);
  EXPECT_EQ(y.at({4}), -1);
  EXPECT_EQ(y.at({5}), x.at({5}));
}

TEST(LabSamples, APermutationMovesEverything) {
  for (uint64_t seed : {1, 2, 3}) {
    std::vector<int64_t> order = permutation(7, seed, "test");
    EXPECT_EQ(std::set<int64_t>(order.begin(), order.end()).size(), 7u);
    for (size_t i = 0; i < order.size(); ++i) EXPECT_NE(order[i], static_cast<int64_t>(i));
  }
}

TEST(LabSamples, DifferencesSeeANaN) {
  Tensor a = Tensor::from({3}, {1, 2, 3}), b = Tensor::from({3}, {1, static_cast<Real>(kNaN), 7});
  EXPECT_EQ(largest_difference(a, a), 0);
  EXPECT_TRUE(std::isnan(largest_difference(a, b)));
  EXPECT_FALSE(all_finite(b));
}

}  // namespace
}  // namespace lookback
