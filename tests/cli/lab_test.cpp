// `lookback lab`: what it prints, as text and as JSON, and how it ends.

#include <set>

#include "core/json.h"
#include "tests/cli/command_line.h"

namespace lookback {
namespace {

using testing::lines;
using testing::Outcome;

using LabCommandTest = testing::CommandLine;

TEST_F(LabCommandTest, PrintsFindingsAndAVerdict) {
  Outcome outcome = run("lab hand");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(outcome.err, "");
  std::vector<std::string> all = lines(outcome.out);
  EXPECT_EQ(all.at(0), "hand  (2.4.6, example 2.4.1)");
  std::set<size_t> claims, measures;
  for (const std::string& line : all) {
    if (!line.starts_with("  ok ")) continue;
    claims.insert(line.find(" claimed "));
    measures.insert(line.find(" measured "));
  }
  EXPECT_EQ(claims.size(), 1u) << outcome.out;
  EXPECT_EQ(measures.size(), 1u) << outcome.out;
  EXPECT_NE(outcome.out.find("claimed 0.401112 0.197776 0.401112,"), std::string::npos);
  EXPECT_NE(outcome.out.find("\n  hand holds ("), std::string::npos) << outcome.out;
  EXPECT_EQ(outcome.out.find("FAILS"), std::string::npos) << outcome.out;
}

TEST_F(LabCommandTest, PrintsJsonAndNothingElse) {
  Outcome outcome = run("lab axis --json --seed 7 --threads 1");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(lines(outcome.out).size(), 1u);
  Json all = parse_json(outcome.out, "standard output")["labs"];
  ASSERT_EQ(all.size(), 1u);
  const Json& lab = all[0];
  std::vector<std::string> keys;
  for (const auto& [key, value] : lab.items()) keys.push_back(key);
  EXPECT_EQ(keys, (std::vector<std::string>{"name", "section", "claim", "measured", "findings",
                                            "verdict", "left_out", "seconds"}));
  EXPECT_EQ(lab["name"], "axis");
  EXPECT_EQ(lab["verdict"], "holds");
  EXPECT_EQ(lab["measured"]["row_sums_along_keys"].size(), 5u);
  EXPECT_TRUE(lab["findings"][0]["holds"].get<bool>());
  EXPECT_EQ(lab["left_out"], "");
  EXPECT_GE(lab["seconds"].get<double>(), 0);

  Json again = parse_json(run("lab axis --json --seed 7 --threads 2").out, "again")["labs"][0];
  EXPECT_EQ(again["measured"], lab["measured"]);
  Json other = parse_json(run("lab axis --json").out, "other")["labs"][0];
  EXPECT_NE(other["measured"], lab["measured"]);
}

TEST_F(LabCommandTest, ListsWithoutMeasuring) {
  Outcome outcome = run("lab --list");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  size_t scores = outcome.out.find("scores  (2.4.2"), axis = outcome.out.find("axis  (2.4.8");
  EXPECT_LT(scores, axis);
  EXPECT_NE(axis, std::string::npos) << outcome.out;
  EXPECT_EQ(outcome.out.find("measured"), std::string::npos) << outcome.out;
  for (const std::string& line : lines(outcome.out)) EXPECT_LE(line.size(), 98u) << line;
}

TEST_F(LabCommandTest, HelpSaysThatTheNameMayBeLeftOut) {
  EXPECT_NE(run("lab --help").out.find("Usage: lookback lab [options] [NAME]"), std::string::npos);
  EXPECT_NE(run("bench --help").out.find("Usage: lookback bench [options] CONFIG"),
            std::string::npos);
}

TEST_F(LabCommandTest, RefusesWhatItDoesNotKnow) {
  expect_refused("lab varianc", "unknown lab \"varianc\"");
  expect_refused("lab varianc", "variance");
  expect_refused("lab hand axis", "unexpected argument \"axis\"; expected only NAME");
  expect_refused("lab --ful", "--full");
  expect_refused("lab --seed -1", "--seed: must be a whole number");
  expect_refused("lab --list --json", "--list prints text");
}

TEST_F(LabCommandTest, EndsPromptlyWhenInterrupted) {
  for (const char* signal : {"INT", "TERM"}) {
    // SigCgt, the signals that a process catches, has bit 14 for SIGTERM, which the program asks for
    // last and the shell that starts it never does.
    Outcome outcome =
        shell(std::string("\"$L\" lab extremes --full --seed 3 2> err & "
                          "until grep -q '^SigCgt:.*[4-7c-f]...$' /proc/$!/status; do sleep 0.02; "
                          "kill -0 $! || break; done; kill -") +
              signal + " $!; wait $!; code=$?; cat err >&2; exit $code");
    EXPECT_EQ(outcome.code, 130) << outcome.err;
    EXPECT_EQ(outcome.err, "interrupted\n");
    EXPECT_EQ(outcome.out, "");
  }
}

}  // namespace
}  // namespace lookback
