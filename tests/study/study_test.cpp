#include "study/study.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <filesystem>
#include <map>
#include <sstream>

#include "core/files.h"
#include "core/threads.h"
#include "study/browser.h"
#include "study/results.h"
#include "study/study_report.h"
#include "support/text_folder.h"

namespace lookback {
namespace {

class StudyTestRun : public testing::Test {
 protected:
  StudyTestRun() {
    folder.write("base.yaml", R"(name: base
data:
  task: {type: copy, symbols: 6, min_length: 1, max_length: 4}
  held_out: {examples: 20}
model:
  encoder: {embedding: 6, hidden: 8}
  decoder: {embedding: 6, hidden: 8}
train: {steps: 6, batch: {size: 4}, optimizer: {lr: 1e-2}, validate: {every: 3}, log_every: 1}
)");
  }
  StudyPlan study(const std::string& text) {
    return read_study(Config::from_file(folder.write("study.yaml", text)));
  }
  StudyPlan plan(const std::string& more = "", int64_t seeds = 2) {
    return study(
        "name: s\nbase: base.yaml\nvary:\n  model: {fixed: {}, attention: {model.attention.type: "
        "bahdanau}" +
        more + "}\nseeds: " + std::to_string(seeds) +
        "\ntest: {lengths: [2, 4, 6], examples: 5, gradient_length: 5, gradient_examples: "
        "2}\n");
  }
  StudyResults run(const StudyPlan& plan, const std::string& name, int64_t jobs = 1) {
    return run_study(plan, {.folder = folder.path(name), .jobs = jobs});
  }

  TextFolder folder;
};

std::vector<std::vector<std::string>> csv(const std::string& text) {
  std::vector<std::vector<std::string>> rows;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    rows.emplace_back();
    std::istringstream fields(line);
    for (std::string field; std::getline(fields, field, ',');) rows.back().push_back(field);
  }
  return rows;
}

TEST_F(StudyTestRun, TrainsAndMeasuresEveryCell) {
  StudyPlan p = plan();
  StudyResults results = run(p, "out");
  ASSERT_EQ(results.finished(), 4);
  EXPECT_EQ(results.failed(), 0);
  for (const StudyResults::Entry& entry : results.entries) {
    const CellResult& r = *entry.result;
    ASSERT_EQ(r.by_length.size(), 3u);
    EXPECT_EQ(r.by_length[2].from, 6);  // beyond the trained lengths
    EXPECT_EQ(r.by_length[2].measures.examples, 5);
    EXPECT_EQ(r.steps, 6);
    EXPECT_EQ(r.longest, 4);
    EXPECT_EQ(r.gradients.start.size(), 5u);
    EXPECT_EQ(r.gradients.end.size(), 5u);
    EXPECT_TRUE(std::filesystem::exists(folder.path("out/cells/" + entry.cell->folder) +
                                        "/last.safetensors"));
  }
  // Seeds differ, and so do models.
  EXPECT_NE(results.entries[0].result->held_out.all.nll,
            results.entries[1].result->held_out.all.nll);
}

TEST_F(StudyTestRun, NothingDependsOnHowManyCellsRunSideBySide) {
  StudyPlan p = plan();
  StudyResults alone = run(p, "one", 1), together = run(p, "four", 4);
  for (size_t i = 0; i < alone.entries.size(); ++i) {
    const CellResult &a = *alone.entries[i].result, &b = *together.entries[i].result;
    EXPECT_EQ(a.held_out.all.nll, b.held_out.all.nll);
    EXPECT_EQ(a.gradients.end, b.gradients.end);
  }
}

TEST_F(StudyTestRun, FinishedCellsAreNotRepeated) {
  StudyPlan p = plan();
  StudyResults first = run(p, "out");
  std::filesystem::path model = folder.path("out/cells/fixed-seed1/last.safetensors");
  auto written = std::filesystem::last_write_time(model);
  StudyPlan larger = plan(", third: {train.steps: 2}");
  StudyResults second = run(larger, "out");
  EXPECT_EQ(second.kept, 4);
  EXPECT_EQ(second.finished(), 6);
  EXPECT_EQ(std::filesystem::last_write_time(model), written);
  EXPECT_EQ(second.entries[0].result->held_out.all.nll, first.entries[0].result->held_out.all.nll);
  EXPECT_EQ(results_csv(p, first), results_csv(p, run(p, "out")));
}

TEST_F(StudyTestRun, AnInterruptedStudyGoesOnWhereItWas) {
  StudyPlan p = plan();
  StudyResults whole = run(p, "whole");
  std::atomic<bool> stop = false;
  int64_t steps = 0;
  StudyRun broken{.folder = folder.path("broken"), .jobs = 1, .stop = &stop};
  // In the middle of the second cell.
  broken.watch.on_progress = [&](const StudyCell&, const Progress&) { stop = ++steps == 8; };
  StudyResults half = run_study(p, broken);
  EXPECT_TRUE(half.interrupted);
  EXPECT_EQ(half.finished(), 1);
  StudyResults rest = run(p, "broken");
  EXPECT_FALSE(rest.interrupted);
  EXPECT_EQ(rest.kept, 1);
  ASSERT_EQ(rest.finished(), 4);
  for (size_t i = 0; i < 4; ++i)
    EXPECT_EQ(rest.entries[i].result->held_out.all.nll, whole.entries[i].result->held_out.all.nll);
}

TEST_F(StudyTestRun, ACellThatFailsIsNamedAndTheOthersGoOn) {
  StudyPlan p = plan(", wild: {train.optimizer: {type: sgd, lr: 1e39}, train.clip_norm: 0}", 1);
  StudyResults results = run(p, "out", 2);
  EXPECT_EQ(results.finished(), 2);
  ASSERT_EQ(results.failed(), 1);
  EXPECT_NE(results.entries[2].failure.find("training stopped"), std::string::npos)
      << results.entries[2].failure;
  StudyReport report = make_report(p, results, folder.path("out"), "again");
  write_report(p, results, report, folder.path("out"));
  std::string page = plain_text(report.page);
  EXPECT_NE(page.find("1 of 3 models failed"), std::string::npos) << page;
  EXPECT_NE(page.find("wild, seed 1"), std::string::npos) << page;
  EXPECT_EQ(run(p, "out").kept, 2);
}

TEST_F(StudyTestRun, AChangedConfigurationIsRefusedAndNothingIsLost) {
  StudyPlan first = plan("", 1);
  StudyResults results = run(first, "out");
  write_report(first, results, make_report(first, results, folder.path("out"), "again"),
               folder.path("out"));
  std::string before = read_file(folder.path("out/results.csv"));
  folder.write("base.yaml", read_file(folder.path("base.yaml")) + "decode: {beam: 3}\n");
  StudyPlan changed = plan("", 1);
  std::string refusal = user_error([&] { run(changed, "out"); });
  EXPECT_NE(refusal.find("beam: 3"), std::string::npos) << refusal;
  EXPECT_NE(refusal.find("--overwrite"), std::string::npos) << refusal;
  EXPECT_EQ(read_file(folder.path("out/results.csv")), before);
  EXPECT_EQ(read_file(folder.path("out/study.yaml")), first.resolved.yaml());
  StudyResults again =
      run_study(changed, {.folder = folder.path("out"), .jobs = 1, .overwrite = true});
  EXPECT_EQ(again.finished(), 2);
  EXPECT_EQ(again.kept, 0);
}

TEST_F(StudyTestRun, ADamagedCellIsNamedAndOverwriteMendsIt) {
  StudyPlan p = plan("", 1);
  StudyResults whole = run(p, "out");
  const std::string cell = folder.path("out/cells/fixed-seed1/");
  auto broken = [&](const char* what, auto&& damage) {
    SCOPED_TRACE(what);
    damage();
    EXPECT_NE(user_error([&] { run(p, "out"); }).find("--overwrite"), std::string::npos);
    StudyResults mended =
        run_study(p, {.folder = folder.path("out"), .jobs = 1, .overwrite = true});
    ASSERT_EQ(mended.finished(), 2);
    EXPECT_EQ(mended.entries[0].result->held_out.all.nll,
              whole.entries[0].result->held_out.all.nll);
  };
  auto gone = [&](const char* name) { std::filesystem::remove(cell + name); };
  broken("half a result", [&] { write_file(cell + "result.json", "{\"of\": {"); });
  broken("another result", [&] { write_file(cell + "result.json", "[1]"); });
  broken("no state", [&] { gone("result.json"), gone("state.safetensors"); });
  broken("no config", [&] { gone("result.json"), gone("config.yaml"); });
  broken("no model", [&] { gone("result.json"), gone("last.safetensors"); });
}

TEST_F(StudyTestRun, AKillBetweenTwoFilesOfACheckpointIsGoneOnFrom) {
  StudyPlan p = plan("", 1);
  StudyResults whole = run(p, "whole");
  // At the first validation best is written, then last, then the state.
  std::atomic<bool> stop = true;
  run_study(p, {.folder = folder.path("out"), .jobs = 1, .stop = &stop});
  const std::string cell = folder.path("out/cells/fixed-seed1");
  std::filesystem::create_directories(cell);
  TrainRun none{
      .folder = cell, .stop = &stop, .on_start = {}, .on_progress = {}, .on_validation = {}};
  none.log_file = false;
  train(p.cells[0].recipe, none);  // one step, then stopped: state and last
  std::filesystem::rename(cell + "/last.safetensors", cell + "/best.safetensors");
  std::filesystem::last_write_time(
      cell + "/best.safetensors",
      std::filesystem::last_write_time(cell + "/state.safetensors") + std::chrono::seconds(1));
  StudyResults rest = run(p, "out");
  ASSERT_EQ(rest.finished(), 2);
  EXPECT_EQ(rest.entries[0].result->held_out.all.nll, whole.entries[0].result->held_out.all.nll);
}

TEST_F(StudyTestRun, AResultThatIsNoNumberReadsBack) {
  StudyPlan p = plan("", 1);
  run(p, "out");
  std::string path = folder.path("out/cells/fixed-seed1/result.json"), text = read_file(path);
  size_t at = text.rfind("\"nll\": ") + 7;
  write_file(path, text.substr(0, at) + "null" + text.substr(text.find(',', at)));
  StudyResults again = run(p, "out");
  EXPECT_EQ(again.kept, 2);
  EXPECT_TRUE(std::isnan(again.entries[0].result->by_length.back().measures.nll));
  make_report(p, again, folder.path("out"), "");
}

TEST_F(StudyTestRun, AnOlderFormLeavesNothingBesideTheNewOne) {
  StudyPlan p = plan("", 1);
  StudyResults results = run(p, "out");
  write_report(p, results, make_report(p, results, folder.path("out"), ""), folder.path("out"));
  EXPECT_TRUE(std::filesystem::exists(folder.path("out/gradients.csv")));
  StudyPlan other = read_study(Config::from_file(folder.path("study.yaml")),
                               {.settings = {"test.gradient_length=0"}});
  results = run(other, "out");
  write_report(other, results, make_report(other, results, folder.path("out"), ""),
               folder.path("out"));
  EXPECT_FALSE(std::filesystem::exists(folder.path("out/gradients.csv")));
  EXPECT_FALSE(std::filesystem::exists(folder.path("out/figures/gradient_before.svg")));
  EXPECT_TRUE(std::filesystem::exists(folder.path("out/figures/by_length.svg")));
}

TEST_F(StudyTestRun, PositionsThatEndAreNamedBeforeTheFirstStep) {
  StudyPlan p = study(
      "base: base.yaml\nseeds: 1\ntest: {lengths: [4, 9]}\nvary: {m: {t: {model.encoder: {type: "
      "transformer, width: 8, heads: 2, feed_forward: 8, layers: 1, positions: learned, "
      "max_positions: 6}, model.decoder: {type: transformer, width: 8, heads: 2, feed_forward: 8, "
      "layers: 1}}}}\n");
  std::string refusal = user_error([&] { run(p, "out"); });
  EXPECT_NE(refusal.find("a source of length 9"), std::string::npos) << refusal;
  EXPECT_FALSE(std::filesystem::exists(folder.path("out")));
}

TEST_F(StudyTestRun, OddLabelsKeepTheirColumnsAndFigures) {
  StudyPlan p = study(
      "base: base.yaml\nseeds: 1\ntest: {lengths: [2, 4], examples: 2}\nshow: {panels: "
      "task}\nvary: {task: {日本: {}, 中国: {data.task.type: reverse}}, m: {'': {}, 'a,\"b': "
      "{train.steps: 2}}}\n");
  StudyResults results = run(p, "out");
  StudyReport report = make_report(p, results, folder.path("out"), "");
  write_report(p, results, report, folder.path("out"));
  std::string text = read_file(folder.path("out/results.csv"));
  EXPECT_NE(text.find("\n日本,,1,"), std::string::npos) << text;
  EXPECT_NE(text.find("\n日本,\"a,\"\"b\",1,"), std::string::npos) << text;
  size_t drawn = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder.path("out/figures"))) {
    (void)entry;
    ++drawn;
  }
  EXPECT_EQ(drawn, report.figures.size());
}

TEST_F(StudyTestRun, AnotherTestMeasuresTheTrainedModelAnew) {
  run(plan("", 1), "out");
  StudyPlan wider = read_study(Config::from_file(folder.path("study.yaml")),
                               {.settings = {"test.lengths=[2, 3, 5]"}});
  StudyResults results = run(wider, "out");
  ASSERT_EQ(results.finished(), 2);
  ASSERT_EQ(results.entries[0].result->by_length.size(), 3u);
  EXPECT_EQ(results.entries[0].result->by_length[2].from, 5);
}

TEST_F(StudyTestRun, TheFilesHoldEveryNumber) {
  StudyPlan p = plan();
  StudyResults results = run(p, "out");
  StudyReport report = make_report(p, results, folder.path("out"), "again");
  write_report(p, results, report, folder.path("out"));
  auto raw = csv(read_file(folder.path("out/results.csv")));
  ASSERT_EQ(raw.size(), 1u + 4 * 3);
  EXPECT_EQ(raw[0][0], "model");
  double sum = 0;
  for (const auto& row : raw)
    if (row[0] == "attention" && row[4] == "4") sum += std::stod(row[8]) / 2;
  auto means = csv(read_file(folder.path("out/means.csv")));
  bool seen = false;
  for (const auto& row : means) {
    if (row[0] != "attention" || row[2] != "4") continue;
    seen = true;
    EXPECT_NEAR(std::stod(row[10]), sum, 1e-12);  // nll
  }
  EXPECT_TRUE(seen);
  EXPECT_EQ(csv(read_file(folder.path("out/gradients.csv"))).size(), 1u + 4 * 2 * 5);
  for (const auto& [name, figure] : report.figures)
    EXPECT_TRUE(std::filesystem::exists(folder.path("out/figures/" + name + ".svg")));
  EXPECT_NE(read_file(folder.path("out/report.html")).find("</html>"), std::string::npos);
}

TEST_F(StudyTestRun, ABrowserShowsWhatTheFileOfResultsSays) {
  if (find_browser().empty()) GTEST_SKIP() << "no chromium: apt-get install chromium";
  folder.write("study.yaml",
               "name: s\nbase: base.yaml\nvary: {model: {fixed: {}, attention: "
               "{model.attention.type: bahdanau}}}\nseeds: 2\ntest: {lengths: [2, 4, 6], examples: "
               "7}\nshow: {metric: token_accuracy}\n");
  StudyPlan p = read_study(Config::from_file(folder.path("study.yaml")));
  StudyResults results = run(p, "out");
  StudyReport report = make_report(p, results, folder.path("out"), "again");
  write_report(p, results, report, folder.path("out"));
  std::map<std::string, std::map<double, double>> means;  // by model and length, over two seeds
  for (const auto& row : csv(read_file(folder.path("out/results.csv"))))
    if (row[0] != "model") means[row[0]][std::stod(row[4])] += std::stod(row[9]) / 2;
  ASSERT_EQ(means.size(), 2u);
  Seen seen = look_at(report.page);
  EXPECT_EQ(seen.complaints, std::vector<std::string>{});
  ASSERT_EQ(seen.widths.size(), 2u);
  for (const Json& found : seen.widths) {
    EXPECT_EQ(found["ready"], true);
    EXPECT_LE(found["overflow"].get<double>(), 0);
    EXPECT_EQ(json_text(found["collisions"]), "[]");
    const Json& chart = found["charts"][0];
    ASSERT_EQ(chart["names"].size(), 2u);
    for (size_t i = 0; i < 2; ++i) {
      const auto& wanted = means.at(chart["names"][i].get<std::string>());
      ASSERT_EQ(chart["points"][i].size(), wanted.size());
      for (const Json& point : chart["points"][i])
        EXPECT_NEAR(point[1].get<double>(), wanted.at(point[0].get<double>()), 1e-12);
    }
  }
}

TEST(StudyCellResult, TheHalfRightLengthIsReadOffTheCurve) {
  auto with = [](std::vector<std::pair<int64_t, double>> curve) {
    CellResult r;
    for (auto [length, right] : curve)
      r.by_length.push_back({length, length, {.examples = 10, .sequence_accuracy = right}});
    return r.half_right_length();
  };
  EXPECT_DOUBLE_EQ(with({{2, 1}, {4, 0.75}, {6, 0.25}, {8, 0}}), 5);
  EXPECT_DOUBLE_EQ(with({{2, 1}, {4, 0.5}}), 4);
  EXPECT_DOUBLE_EQ(with({{2, 0.4}, {4, 0.9}}), 4);  // the greatest
  EXPECT_DOUBLE_EQ(with({{2, 0.9}, {4, 0.2}, {6, 0.6}, {8, 0.4}}), 7);
  EXPECT_DOUBLE_EQ(with({{2, 0.4}, {4, 0.1}}), 2);
  EXPECT_TRUE(std::isnan(with({})));
}

TEST_F(StudyTestRun, OneProcessAtATimeWorksInAFolder) {
  StudyPlan p = plan("", 1);
  StudyRun outer{.folder = folder.path("out"), .jobs = 1};
  std::string refusal;
  outer.watch.on_cell = [&](const StudyResults::Entry&, int64_t, int64_t) {
    if (refusal.empty()) refusal = user_error([&] { run(p, "out"); });
  };
  run_study(p, outer);
  EXPECT_NE(refusal.find("another process is running a study in this folder"), std::string::npos)
      << refusal;
}

}  // namespace
}  // namespace lookback
