// The verbs that show: study, explain, report.

#include "core/json.h"
#include "tests/cli/command_line.h"

namespace lookback {
namespace {

using testing::CommandLine;
using testing::Outcome;

class StudyVerbs : public CommandLine {
 protected:
  StudyVerbs() {
    write("s.yaml",
          "name: s\nbase: tiny.yaml\nvary: {model: {fixed: {model.attention: {type: none}}, "
          "attention: {}}}\nseeds: 2\ntest: {lengths: [2, 4, 6], examples: 5}\n");
  }
};

TEST_F(StudyVerbs, AStudyWritesItsReportAndGoesOnFromWhatIsThere) {
  Outcome first = run("study s.yaml");
  EXPECT_EQ(first.code, 0) << first.err;
  for (const char* file : {"results.csv", "means.csv", "report.html", "study.yaml",
                           "figures/by_length.svg", "cells/fixed-seed1/result.json"})
    EXPECT_TRUE(exists(std::string("runs/s/") + file)) << file;
  EXPECT_NE(first.out.find("4 of 4 models trained"), std::string::npos) << first.out;
  EXPECT_NE(first.err.find("[4/4] "), std::string::npos) << first.err;
  Outcome again = run("study s.yaml --json");
  EXPECT_EQ(again.code, 0) << again.err;
  Json json = parse_json(again.out, "out");
  EXPECT_EQ(json["finished"], 4);
  EXPECT_EQ(json["cells"].size(), 4u);
  EXPECT_EQ(json["cells"][0]["by_length"].size(), 3u);
}

TEST_F(StudyVerbs, AnInterruptedStudySaysHowToGoOn) {
  Outcome broken = shell(
      "\"$L\" study s.yaml --jobs 1 --set train.steps=100000 --run r & P=$!\n"
      "for i in $(seq 200); do grep -q train r/cells/*/metrics.jsonl 2>/dev/null && break; sleep "
      "0.05; done\nkill -INT $P; wait $P");
  EXPECT_EQ(broken.code, 130) << broken.err;
  EXPECT_NE(broken.err.find("To go on:"), std::string::npos) << broken.err;
  EXPECT_FALSE(exists("r/report.html"));
}

TEST_F(StudyVerbs, ACellThatFailsIsNamedAndTheCodeIsOne) {
  write("w.yaml",
        read("s.yaml") + "set: {train.clip_norm: 0, train.optimizer: {type: sgd, lr: 1e30}}\n");
  Outcome outcome = run("study w.yaml --set train.steps=300 --seeds 1");
  EXPECT_EQ(outcome.code, 1) << outcome.err;
  EXPECT_NE(outcome.out.find("2 of 2 models failed"), std::string::npos) << outcome.out;
}

TEST_F(StudyVerbs, MistakesAreRefusedBeforeAnythingIsWritten) {
  expect_refused("study gone.yaml", "gone.yaml");
  expect_refused("study s.yaml --set train.stepz=3", "train.stepz");
  expect_refused("study s.yaml --full", "no full form");
  expect_refused("study s.yaml --seeds 0", "--seeds");
  expect_refused("study s.yaml --list --json", "contradict each other");
  write("bad.yaml", "base: tiny.yaml\nvary: {m: {}}\n");
  expect_refused("study bad.yaml", "bad.yaml:2: vary.m: has no choices, so the grid is empty");
  EXPECT_FALSE(exists("runs"));
}

TEST_F(StudyVerbs, ARunAndAStudyDoNotShareAFolder) {
  ASSERT_EQ(run("study s.yaml --run x --seeds 1").code, 0);
  std::string before = read("x/report.html");
  expect_refused("train tiny.yaml --run x", "x: holds a study");
  expect_refused("train tiny.yaml --run x --overwrite", "x: holds a study");
  EXPECT_EQ(read("x/report.html"), before);
  train_tiny();
  expect_refused("study s.yaml --run r", "r: holds a training run");
}

TEST_F(StudyVerbs, ExplainShowsWeightsBesideEffects) {
  train_tiny();
  Outcome text = run("explain r --input \"a b c\" --report why.html --figure why.svg");
  EXPECT_EQ(text.code, 0) << text.err;
  for (const char* part :
       {"Do the weights agree", "ablation", "input x gradient", "Attention weights"})
    EXPECT_NE(text.out.find(part), std::string::npos) << part << "\n" << text.out;
  EXPECT_NE(read("why.html").find("</html>"), std::string::npos);
  EXPECT_NE(read("why.svg").find("</svg>"), std::string::npos);
  ASSERT_EQ(run("train tiny.yaml --set seed=2 --run r2").code, 0);
  Outcome json = run("explain r --also r2 --input \"a b c\" --target \"a b\" --json");
  EXPECT_EQ(json.code, 0) << json.err;
  Json out = parse_json(json.out, "out");
  ASSERT_EQ(out["models"].size(), 2u);
  EXPECT_EQ(out["models"][0]["weights"].size(), 3u);     // a, b and the end mark
  EXPECT_EQ(out["models"][0]["weights"][0].size(), 4u);  // three letters and the end mark
  bool seeds = false, cause = false;
  for (const Json& check : out["verdict"]["checks"]) {
    seeds = seeds || check["name"] == "other seeds";
    cause = cause || check["name"] == "known cause";
  }
  EXPECT_TRUE(seeds);
  EXPECT_TRUE(cause);
  expect_refused("explain r", "--input TEXT is missing");
  expect_refused("explain r --input \" \"", "--input: holds no word");
  expect_refused("explain gone --input a", "gone");
  expect_refused("explain r --also r --input a", "--also r: is the same model as r");
  ASSERT_EQ(run("train tiny.yaml --set model.attention.type=none --run none").code, 0);
  expect_refused("explain r --also none --input a", "--also none: has no attention, unlike r");
  expect_refused("explain none --input a --report half.html --figure f.svg", "has no attention");
  EXPECT_FALSE(exists("half.html"));
}

TEST_F(StudyVerbs, EveryRunHasAReport) {
  Outcome trained = train_tiny();
  EXPECT_NE(trained.err.find("r/report.html"), std::string::npos) << trained.err;
  std::string page = read("r/report.html");
  EXPECT_NE(page.find("</html>"), std::string::npos);
  Outcome text = run("report r --text");
  EXPECT_EQ(text.code, 0) << text.err;
  for (const char* part : {"Learning", "By source length", "Where the decoder looks", "Repeat it"})
    EXPECT_NE(text.out.find(part), std::string::npos) << part << "\n" << text.out;
  for (const char* figure :
       {"learning", "by_source_length", "where_the_decoder_looks", "where_the_decoder_looks_2"})
    EXPECT_NE(read(std::string("r/figures/") + figure + ".svg").find("</svg>"), std::string::npos)
        << figure;
  EXPECT_EQ(run("report r").code, 0);
  expect_refused("report nothing_here", "nothing_here");
  // A line that no run writes is passed over.
  EXPECT_EQ(
      shell("echo '{\"event\": 5, \"step\": \"x\"}' >> r/metrics.jsonl; \"$L\" report r").code, 0);
}

}  // namespace
}  // namespace lookback
