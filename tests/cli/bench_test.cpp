// `bench` beyond training steps: translating, and how a step's time grows.

#include <set>

#include "core/json.h"
#include "core/products.h"
#include "tests/cli/command_line.h"

namespace lookback {
namespace {

using testing::CommandLine;
using testing::Outcome;

using BenchTest = CommandLine;

TEST_F(BenchTest, TranslatesToAnExactLength) {
  Outcome outcome = run(
      "bench tiny.yaml --translate --sentences 10 --batch 4 --source-length 3 --target-length 5 "
      "--beam 3 --rounds 2 --threads 2 --json");
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  Json json = parse_json(outcome.out, "standard output");
  EXPECT_EQ(json["tokens"], 10 * 5);
  EXPECT_EQ(json["parameters"], 2626);
  std::set<std::pair<int64_t, int64_t>> rows;
  for (const Json& row : json["rows"]) {
    rows.emplace(row["beam"].get<int64_t>(), row["threads"].get<int64_t>());
    EXPECT_LE(row["least_ms"].get<double>(), row["ms"].get<double>());
    double rate = 50 / row["ms"].get<double>() * 1e3;
    EXPECT_NEAR(row["tokens_per_second"].get<double>(), rate, 1e-9 * rate);
  }
  EXPECT_EQ(rows, (std::set<std::pair<int64_t, int64_t>>{{1, 1}, {1, 2}, {3, 1}, {3, 2}}));
}

TEST_F(BenchTest, TranslationsDefaultsAreThoseOfItsHelp) {
  Outcome outcome = run("bench tiny.yaml --translate --rounds 1 --threads 1 --json");
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  Json json = parse_json(outcome.out, "standard output");
  EXPECT_EQ(json["sentences"], 256);
  EXPECT_EQ(json["batch"], 32);
  EXPECT_EQ(json["source_length"], 64);
  EXPECT_EQ(json["tokens"], 256 * 64);
  ASSERT_EQ(json["rows"].size(), 2u);  // one thread, and no other number of them
  EXPECT_EQ(json["rows"][1]["beam"], 6);
}

TEST_F(BenchTest, PrintsTranslatingAsATable) {
  Outcome outcome =
      run("bench tiny.yaml --translate --sentences 3 --target-length 1 --rounds 1 --threads 1");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  for (const char* text : {"3 sentences of 64 tokens -> 1 tokens, 32 a batch; 2626 parameters",
                           "target tokens/s", "\ngreedy ", "\nbeam 6 "})
    EXPECT_NE(outcome.out.find(text), std::string::npos) << text << outcome.out;
}

TEST_F(BenchTest, MeasuresHowAStepGrows) {
  Outcome outcome =
      run("bench tiny.yaml --scaling --batch 8 --source-length 4 --target-length 8 --steps 1 "
          "--threads 2 --report page.html --json");
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  Json json = parse_json(outcome.out, "standard output");
  std::vector<std::vector<double>> sizes;
  std::string letters;
  for (const Json& axis : json["axes"]) {
    letters += axis["axis"].get<std::string>() + " ";
    sizes.emplace_back();
    for (const Json& point : axis["points"]) sizes.back().push_back(point["size"]);
  }
  EXPECT_EQ(letters, "B S T D V threads ");
  EXPECT_EQ(sizes, (std::vector<std::vector<double>>{{2, 4, 8, 16, 32},
                                                     {1, 2, 4, 8, 16},
                                                     {2, 4, 8, 16, 32},
                                                     {3, 6, 12, 24, 48},
                                                     {10, 20, 40},  // one symbol is no task
                                                     {1, 2}}));
  // Products are of as many rows as there are sentences, but those of word vectors: of as many as there
  // are different words.
  EXPECT_GT(json["axes"][0]["counted"].get<double>(), 0.9);
  EXPECT_LT(json["axes"][0]["counted"].get<double>(), 1);
  EXPECT_NE(read("page.html").find("Exponents"), std::string::npos);
}

TEST_F(BenchTest, SaysOnceForAllSizesThatThereIsNoBf16) {
  if (bf16_products()) GTEST_SKIP() << "this processor has products of bf16 numbers";
  Outcome outcome = run("bench tiny.yaml --scaling --batch 1 --steps 1 --set train.precision=bf16");
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  size_t first = outcome.err.find("AVX512_BF16");
  ASSERT_NE(first, std::string::npos) << outcome.err;
  EXPECT_EQ(outcome.err.find("AVX512_BF16", first + 1), std::string::npos) << outcome.err;
}

TEST_F(BenchTest, ScalesATransformersWidthWithItsFeedForward) {
  write("t.yaml",
        "name: t\ndata: {task: {type: copy, symbols: 6}}\nmodel:\n"
        "  encoder: {type: transformer, width: 8, heads: 4, feed_forward: 64, layers: 1}\n"
        "  decoder: {type: transformer, width: 8, heads: 4, feed_forward: 64, layers: 1}\n"
        "train: {steps: 1, batch: {size: 2}}\n");
  Outcome outcome = run("bench t.yaml --scaling --steps 1 --threads 1 --json");
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  Json json = parse_json(outcome.out, "standard output");
  const Json& width = json["axes"][3];
  ASSERT_EQ(width["points"].size(), 4u) << width;  // 2 is no multiple of the 4 heads
  EXPECT_NE(width["left_out"].at(0).get<std::string>().find("D = 2: "), std::string::npos);
  EXPECT_GT(width["counted"].get<double>(), 1.7);
  EXPECT_EQ(json["axes"][1]["asymptotic"], 2);
}

TEST_F(BenchTest, RefusesAReportThatCannotBeWrittenBeforeItMeasures) {
  expect_refused("bench tiny.yaml --report x.html",
                 "bench: --report is of --scaling; give that too");
  expect_refused("bench tiny.yaml --scaling --report none/x.html",
                 "bench: --report none/x.html: there is no folder none");
  expect_refused("bench tiny.yaml --scaling --report .", "bench: --report . is a folder");
  expect_refused("bench tiny.yaml --scaling --translate",
                 "bench: --translate and --scaling measure different things; give one");
  expect_refused("bench tiny.yaml --scaling --profile", "bench: --profile is of one size");
}

TEST_F(BenchTest, RefusesWhatDoesNotGoTogether) {
  expect_refused("bench tiny.yaml --translate --profile",
                 "bench: --profile is of training steps, not of --translate");
  expect_refused("bench tiny.yaml --translate --steps 3",
                 "bench: --steps counts training steps; --translate has --rounds");
  for (const char* option : {"--sentences", "--beam", "--rounds"})
    expect_refused(std::string("bench tiny.yaml ") + option + " 2",
                   std::string("bench: ") + option + " belongs to --translate; give that too");
  expect_refused("bench tiny.yaml --translate --beam 1",
                 "--beam: must be a whole number between 2 and 10000, but is 1");
  expect_refused("bench tiny.yaml --translate --sentences 0", "but is 0");
  expect_refused("bench tiny.yaml --translate --sentences 1000000 --target-length 50",
                 "1000000 sentences of 64 tokens");
  expect_refused("bench tiny.yaml --translate --batch 256 --beam 10000",
                 "2560000 sentences of 64 tokens");
}

TEST_F(BenchTest, RefusesLengthsThatLearnedPositionsDoNotReach) {
  write("learned.yaml",
        "name: x\ndata: {task: {type: copy}}\nmodel:\n"
        "  encoder: {type: transformer, width: 8, heads: 2, layers: 1}\n"
        "  decoder: {type: transformer, width: 8, heads: 2, layers: 1, positions: learned, "
        "max_positions: 7}\ntrain: {steps: 1}\n");
  expect_refused("bench learned.yaml --translate --target-length 8", "bench: ");
  EXPECT_EQ(run("bench learned.yaml --translate --target-length 7 --sentences 2 --rounds 1").code,
            0);
}

}  // namespace
}  // namespace lookback
