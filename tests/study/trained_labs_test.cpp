// The labs that train models could fail: measurements that a wrong model would give are handed to
// their verdicts. (What they measure takes seconds each; `lookback lab` runs it.)

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <utility>

#include "study/labs/small_models.h"
#include "study/labs/trained.h"

namespace lookback {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

template <class Measured>
void expect_told_apart(
    const Measured& good,
    const std::vector<std::pair<const char*, std::function<void(Measured&)>>>& spoils) {
  EXPECT_TRUE(judge(good).holds());
  EXPECT_FALSE(judge(good).numbers.empty());
  for (const auto& [what, spoil] : spoils) {
    Measured bad = good;
    spoil(bad);
    LabReport report = judge(bad);
    EXPECT_FALSE(report.holds()) << what;
    EXPECT_NO_THROW(parse_json(json_text(report.numbers), what)) << what;
  }
}

TEST(TrainedLabs, Path) {
  PathMeasured good;
  good.rows = {{"GRU, fixed", false, {1e-9, 1e-4, 1}, {1.6, 1, 1}},
               {"GRU, Bahdanau", true, {1.2, 1, 1}, {}}};
  expect_told_apart<PathMeasured>(
      good, {{"a fixed context that reaches back", [](auto& m) { m.rows[0].before[0] = .1; }},
             {"attention that does not", [](auto& m) { m.rows[1].before[0] = 1e-3; }},
             {"attention that favours the start", [](auto& m) { m.rows[1].before[0] = 10; }},
             {"training changes nothing", [](auto& m) { m.rows[0].after = m.rows[0].before; }},
             {"NaN", [](auto& m) { m.rows[1].before[0] = kNaN; }},
             {"nothing measured", [](auto& m) { m.rows.clear(); }}});
}

TEST(TrainedLabs, Bottleneck) {
  Numbers falls(20, 0.02), flat(20, 0.99);
  for (int n = 0; n < 7; ++n) falls[static_cast<size_t>(n)] = 0.98;
  BottleneckMeasured good;
  good.rows = {{"GRU, fixed", false, 64, 42000, falls, 7.5},
               {"GRU, fixed", false, 128, 150000, falls, 9.4},
               {"GRU, Bahdanau", true, 32, 17000, flat, 20}};
  expect_told_apart<BottleneckMeasured>(
      good, {{"attention forgets", [](auto& m) { m.rows[2].right[19] = 0.9; }},
             {"a fixed context remembers", [](auto& m) { m.rows[0].right[15] = 0.3; }},
             {"a fixed context learns nothing", [](auto& m) { m.rows[0].right[3] = 0.2; }},
             {"size is all", [](auto& m) { m.rows[1].half = 15; }},
             {"NaN", [](auto& m) { m.rows[2].right[4] = kNaN; }}});
}

TEST(TrainedLabs, Explain) {
  ExplainMeasured good{.right = 1,
                       .cause_changes = 1,
                       .others_keep = .99,
                       .weight_on_cause = .9,
                       .weight_beside = .09,
                       .ablation_on_cause = .97,
                       .gradient_on_cause = .95,
                       .product_on_cause = .8,
                       .ablation = {.2, .9},
                       .gradient = {.5, .9},
                       .product = {.3, .8},
                       .seeds = {.8, .95},
                       .sentences = 100,
                       .hidden_weight = .99,
                       .hidden_product = 0,
                       .hidden_change = 0,
                       .other_change = .9,
                       .left_out = ""};
  expect_told_apart<ExplainMeasured>(
      good, {{"not learned", [](auto& m) { m.right = .7; }},
             {"the cause is another", [](auto& m) { m.cause_changes = .5; }},
             {"others matter", [](auto& m) { m.others_keep = .5; }},
             {"weights look elsewhere", [](auto& m) { m.weight_on_cause = .3; }},
             {"hiding does nothing", [](auto& m) { m.ablation_on_cause = .2; }},
             {"gradients elsewhere", [](auto& m) { m.gradient_on_cause = .2; }},
             {"seeds differ", [](auto& m) { m.seeds.top = .3; }},
             {"the zero value counts", [](auto& m) { m.hidden_change = .2; }},
             {"the others do not", [](auto& m) { m.other_change = 0; }},
             {"NaN", [](auto& m) { m.hidden_product = kNaN; }}});
}

TEST(TrainedLabs, Heads) {
  HeadsMeasured good{.nll = .002, .right = .99, .rows = {}, .left_out = ""};
  good.rows = {{"a", .003, .99}, {"b", .004, .99}, {"c", .9, .2}};
  expect_told_apart<HeadsMeasured>(good, {{"not learned", [](auto& m) { m.right = .5; }},
                                          {"every head counts",
                                           [](auto& m) {
                                             for (auto& row : m.rows) row.nll = 1;
                                           }},
                                          {"no head counts",
                                           [](auto& m) {
                                             for (auto& row : m.rows) row.nll = m.nll;
                                           }},
                                          {"NaN",
                                           [](auto& m) {
                                             for (auto& row : m.rows) row.nll = kNaN;
                                           }},
                                          {"nothing measured", [](auto& m) { m.rows.clear(); }}});
}

TEST(TrainedLabs, SmallModelsAreWhatTheirNamesSay) {
  SmallTask task{"{type: copy, symbols: 5, max_length: 4}", 20};
  SmallModel model{.name = "m", .model = recurrent("lstm", "{type: bahdanau}", 6, 3), .steps = 2};
  std::vector<TrainResult> two = train_all(task, {model, model}, {});
  EXPECT_EQ(two[0].last.all.nll, two[1].last.all.nll);
  EXPECT_EQ(two[0].step, 2);
  EXPECT_GT(untrained(task, {.name = "t", .model = small_transformer(1)}).model->parameter_count(),
            0);
  std::atomic<bool> stop = true;
  LabOptions stopped;
  stopped.stop = &stop;
  EXPECT_THROW(train_all(task, {model}, stopped), Interrupted);
}

}  // namespace
}  // namespace lookback
