// The program as a person uses it: what each verb does when all is well.

#include <cmath>
#include <set>

#include "core/json.h"
#include "tests/cli/command_line.h"

namespace lookback {
namespace {

using testing::CommandLine;
using testing::lines;
using testing::Outcome;

using CommandLineTest = CommandLine;

TEST_F(CommandLineTest, TrainsIntoARunFolder) {
  Outcome trained = train_tiny();
  EXPECT_EQ(trained.out, "");
  for (const char* file :
       {"config.yaml", "metrics.jsonl", "log.txt", "best.safetensors", "last.safetensors",
        "state.safetensors", "source.vocabulary.txt", "target.vocabulary.txt"})
    EXPECT_TRUE(exists(std::string("r/") + file)) << file;
  EXPECT_NE(trained.err.find("tiny: 2626 parameters on copy, 6 symbols"), std::string::npos)
      << trained.err;
  EXPECT_NE(trained.err.find("step 4/6  nll "), std::string::npos) << trained.err;
  EXPECT_NE(trained.err.find("step 3: validation nll "), std::string::npos) << trained.err;
  EXPECT_NE(trained.err.find("lookback evaluate r\n"), std::string::npos) << trained.err;
  // No terminal: no line is drawn over another.
  EXPECT_EQ(trained.err.find('\r'), std::string::npos);
  EXPECT_NE(read("r/log.txt").find("step 6: validation nll"), std::string::npos);
}

TEST_F(CommandLineTest, DrawsOneLineOnATerminal) {
  Outcome outcome = shell("script -qec \"stty cols 40; '$L' train tiny.yaml --run r\" /dev/null");
  EXPECT_EQ(outcome.code, 0) << outcome.out;
  size_t begin = outcome.out.find("step 2/6  nll "), end = outcome.out.find("done: 6 steps");
  ASSERT_NE(begin, std::string::npos) << outcome.out;
  ASSERT_NE(end, std::string::npos) << outcome.out;
  std::string progress = outcome.out.substr(begin, end - begin);
  EXPECT_EQ(progress.find('\n'), std::string::npos) << progress;
  std::vector<std::string> drawn;
  const std::string again = "\r\x1b[K";
  for (size_t at = 0; at < progress.size(); at += again.size()) {
    size_t next = progress.find(again, at);
    ASSERT_NE(next, std::string::npos) << progress;
    drawn.push_back(progress.substr(at, next - at));
    at = next;
  }
  ASSERT_EQ(drawn.size(), 5u) << progress;  // three reports, two validations
  for (const std::string& line : drawn) EXPECT_LT(line.size(), 40u) << line;
  EXPECT_NE(drawn[1].find(" | valid "), std::string::npos) << drawn[1];
  EXPECT_NE(read("r/log.txt").find("info: step 3: validation nll"), std::string::npos);
}

TEST_F(CommandLineTest, TakesItsRunFolderFromTheName) {
  EXPECT_EQ(run("train tiny.yaml --set name=other --set train.steps=1").code, 0);
  EXPECT_TRUE(exists("runs/other/last.safetensors"));
}

TEST_F(CommandLineTest, EvaluatesAsATableAndAsJson) {
  train_tiny();
  Outcome table = run("evaluate r");
  EXPECT_EQ(table.code, 0) << table.err;
  EXPECT_NE(table.out.find("on the test set\n"), std::string::npos) << table.out;
  EXPECT_NE(table.out.find("\n      all        40 "), std::string::npos) << table.out;

  Outcome outcome = run("evaluate r --json --bleu --split valid");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  Json json = parse_json(outcome.out, "standard output");
  EXPECT_EQ(json["examples"], 40);
  EXPECT_EQ(json["split"], "valid");
  EXPECT_NEAR(json["perplexity"].get<double>(), std::exp(json["nll"].get<double>()), 1e-9);
  for (const char* key : {"token_accuracy", "sequence_accuracy", "bleu"})
    EXPECT_TRUE(json[key].is_number()) << key;
  int64_t examples = 0;
  for (const Json& row : json["by_length"]) {
    EXPECT_EQ(row["from"], row["to"]);
    examples += row["examples"].get<int64_t>();
  }
  EXPECT_EQ(examples, 40);
}

TEST_F(CommandLineTest, EvaluatesOnOtherData) {
  train_tiny();
  Outcome outcome =
      run("evaluate r --json --set data.task.max_length=9 --set data.held_out.examples=50");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  Json json = parse_json(outcome.out, "standard output");
  EXPECT_EQ(json["examples"], 50);
  EXPECT_EQ(json["by_length"].back()["to"], 9);
}

TEST_F(CommandLineTest, AModelIsOneFile) {
  train_tiny();
  std::string before = run("evaluate r").out;
  ASSERT_EQ(shell("mkdir elsewhere && mv r/best.safetensors elsewhere/m && rm -r r tiny.yaml").code,
            0);
  Outcome after = run("evaluate elsewhere/m");
  EXPECT_EQ(after.code, 0) << after.err;
  EXPECT_EQ(lines(after.out).back(), lines(before).back());
}

TEST_F(CommandLineTest, TranslatesLineByLine) {
  train_tiny();
  write("in", "a b c\n\nf f\n   \nnever_seen a\na");
  Outcome outcome = shell("\"$L\" translate r --max-length 3 < in");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  std::vector<std::string> out = lines(outcome.out);
  ASSERT_EQ(out.size(), 6u) << outcome.out;
  EXPECT_EQ(out[1], "");
  EXPECT_EQ(out[3], "");
  for (const std::string& line : out) EXPECT_LE(line.size(), 5u) << line;
  EXPECT_TRUE(outcome.out.ends_with("\n"));
  EXPECT_EQ(shell("\"$L\" translate r --max-length 3 --batch 1 --threads 1 < in").out, outcome.out);
  EXPECT_EQ(run("translate r").out, "");
}

TEST_F(CommandLineTest, WritesAttention) {
  train_tiny();
  write("in", "a b c\n\nf\n");
  Outcome outcome = shell("\"$L\" translate r --max-length 4 --attention w.json < in");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  std::vector<std::string> out = lines(outcome.out);
  Json sentences = parse_json(read("w.json"), "w.json")["sentences"];
  ASSERT_EQ(sentences.size(), 3u);
  EXPECT_EQ(sentences[0]["source"], Json({"a", "b", "c", "<eos>"}));
  EXPECT_TRUE(sentences[1]["weights"].empty());
  for (size_t i : {0, 2}) {
    const Json& sentence = sentences[i];
    std::string said;
    for (const Json& token : sentence["target"])
      if (token != "<eos>") said += (said.empty() ? "" : " ") + token.get<std::string>();
    EXPECT_EQ(said, out[i]);
    ASSERT_EQ(sentence["weights"].size(), sentence["target"].size());
    for (const Json& row : sentence["weights"]) {
      ASSERT_EQ(row.size(), sentence["source"].size());
      double sum = 0;
      for (const Json& weight : row) sum += weight.get<double>();
      EXPECT_NEAR(sum, 1, 1e-5);
    }
  }
}

TEST_F(CommandLineTest, Scores) {
  train_tiny();
  write("s", "a b\nc\n");
  write("t", "a b\nf f f\n");
  Outcome text = run("score r s t");
  EXPECT_EQ(text.code, 0) << text.err;
  EXPECT_EQ(text.err.rfind("2 lines, 7 tokens with end marks: nll ", 0), 0u) << text.err;
  std::vector<std::string> totals = lines(text.out);
  ASSERT_EQ(totals.size(), 2u);
  Json scores = parse_json(run("score r s t --json").out, "standard output")["scores"];
  ASSERT_EQ(scores.size(), 2u);
  EXPECT_EQ(scores[0]["tokens"].size(), 3u);
  EXPECT_EQ(scores[1]["tokens"].size(), 4u);
  EXPECT_EQ(scores[0]["tokens"][1]["token"], "b");
  EXPECT_EQ(scores[0]["tokens"][2]["token"], "<eos>");
  for (size_t i : {0, 1}) {
    double sum = 0;
    for (const Json& token : scores[i]["tokens"]) sum += token["log_probability"].get<double>();
    EXPECT_NEAR(sum, scores[i]["log_probability"].get<double>(), 1e-9);
    EXPECT_NEAR(sum, std::stod(totals[i]), 1e-6);
    EXPECT_LT(sum, 0);
  }
}

TEST_F(CommandLineTest, GoesOnAfterAnInterruptAsIfUnbroken) {
  const std::string settings = "--set train.log_every=1 --set train.validate.every=1000000000";
  for (const char* signal : {"INT", "TERM"}) {
    Outcome broken =
        shell("rm -f err; \"$L\" train tiny.yaml --run r --overwrite --set train.steps=200000 " +
              settings + " 2> err & until grep -qs '^step 3' err; do sleep 0.02; done; kill -" +
              signal + " $!; wait $!; code=$?; cat err >&2; exit $code");
    EXPECT_EQ(broken.code, 130) << broken.err;
    EXPECT_NE(broken.err.find("lookback train r/config.yaml --run r --resume"), std::string::npos)
        << broken.err;
    const std::string mark = "interrupted after step ";
    size_t at = broken.err.find(mark);
    ASSERT_NE(at, std::string::npos) << broken.err;
    int64_t steps = std::stoll(broken.err.substr(at + mark.size())) + 3;
    const std::string goal = " --set train.steps=" + std::to_string(steps);
    Outcome resumed = run("train r/config.yaml --run r --resume" + goal);
    EXPECT_EQ(resumed.code, 0) << resumed.err;
    EXPECT_NE(resumed.err.find("3 steps to go after the "), std::string::npos) << resumed.err;
    Outcome whole = run("train tiny.yaml --run whole --overwrite " + settings + goal);
    EXPECT_EQ(whole.code, 0) << whole.err;
    EXPECT_EQ(read("r/last.safetensors"), read("whole/last.safetensors"));
    EXPECT_EQ(read("r/state.safetensors"), read("whole/state.safetensors"));
  }
}

TEST_F(CommandLineTest, TrainsOnTextAndNamesTheSetThatItMeasures) {
  std::string text;
  for (int i = 0; i < 12; ++i) text += "a b c\nd e\na d\n";
  write("a.txt", text);
  write("config.yaml", R"(name: text
data:
  corpus:
    train: {source: a.txt, target: a.txt}
    valid: {source: a.txt, target: a.txt}
model: {encoder: {embedding: 4, hidden: 6}, decoder: {embedding: 4, hidden: 6}}
train: {epochs: 1, batch: {size: 8}}
)");
  Outcome trained = run("train config.yaml --run t");
  EXPECT_EQ(trained.code, 0) << trained.err;
  Outcome outcome = run("evaluate t --json");
  EXPECT_EQ(outcome.code, 0);
  EXPECT_NE(outcome.err.find("no test set"), std::string::npos) << outcome.err;
  EXPECT_EQ(parse_json(outcome.out, "standard output")["split"], "valid");
  expect_refused("evaluate t --split test", "data.corpus.test: missing");
  // Without attention there is nothing to write, and then nothing is translated either.
  write("in", "a b\n");
  expect_refused(shell("\"$L\" translate t --attention w.json < in"), "the model has no attention");
  EXPECT_FALSE(exists("w.json"));
}

TEST_F(CommandLineTest, GeneratesDisjointSplits) {
  std::set<std::string> seen;
  size_t count = 0;
  for (const char* split : {"train", "valid", "test"}) {
    Outcome outcome = run(
        std::string("generate reverse --set symbols=4 --set max_length=6 --examples 60 --split ") +
        split);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_EQ(outcome.err, "");
    std::set<std::string> here;
    for (const std::string& line : lines(outcome.out)) {
      std::string source = line.substr(0, line.find('\t')),
                  target = line.substr(line.find('\t') + 1);
      EXPECT_EQ(std::string(source.rbegin(), source.rend()), target);
      here.insert(source);
    }
    count += here.size();
    seen.insert(here.begin(), here.end());
  }
  EXPECT_EQ(seen.size(), count);
  EXPECT_GT(count, 60u);
}

TEST_F(CommandLineTest, GeneratesBySeedToFilesOrOutput) {
  std::string first = run("generate copy --examples 20 --seed 1").out;
  EXPECT_EQ(lines(first).size(), 20u);
  EXPECT_EQ(run("generate copy --examples 20").out, first);
  EXPECT_NE(run("generate copy --examples 20 --seed 2").out, first);
  std::string fixed = run("generate copy --examples 20 --split test").out;
  EXPECT_NE(run("generate copy --examples 20 --split test --seed 2").out, fixed);
  Outcome outcome = run("generate copy --examples 20 --output p");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(outcome.out, "");
  EXPECT_EQ(shell("paste p.source p.target").out, first);
}

TEST_F(CommandLineTest, ListsTasks) {
  Json tasks = parse_json(run("tasks --json").out, "standard output")["tasks"];
  ASSERT_GE(tasks.size(), 2u);
  bool copy_is_there = false;
  for (const Json& task : tasks)
    if (task["name"] == "copy") {
      copy_is_there = true;
      EXPECT_EQ(task["options"]["symbols"], 20);
      EXPECT_EQ(task["example"]["source"], task["example"]["target"]);
    }
  EXPECT_TRUE(copy_is_there);
  // A long example is whole for programs and cut for readers.
  EXPECT_NE(run("tasks").out.find("... (28 more) ..."), std::string::npos);
  EXPECT_NE(run("tasks").out.find("data: {task: {type: reverse, symbols: 20,"), std::string::npos);
}

TEST_F(CommandLineTest, Benches) {
  Outcome outcome = run(
      "bench tiny.yaml --batch 4 --source-length 3 --target-length 5 --steps 2 --threads 1 --json");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  Json json = parse_json(outcome.out, "standard output");
  for (const char* key :
       {"step_ms", "min_ms", "tokens_per_second", "gemm_gflops", "peak_gflops", "gemm_rate",
        "peak_rss_mb", "page_faults", "parameters", "threads", "shards"})
    EXPECT_TRUE(json[key].is_number()) << key;
  EXPECT_EQ(json["threads"], 1);
  EXPECT_EQ(json["parameters"], 2626);
  EXPECT_NEAR(json["tokens_per_second"].get<double>(), 4 * 5 / json["step_ms"].get<double>() * 1e3,
              1e-3);
  EXPECT_NE(run("bench tiny.yaml --batch 2 --steps 1").out.find("target tokens"),
            std::string::npos);
}

TEST_F(CommandLineTest, BenchSaysWhereAStepsTimeGoes) {
  std::string arguments =
      "bench tiny.yaml --batch 4 --source-length 3 --target-length 5 --steps 2 "
      "--set train.shards=2";
  EXPECT_EQ(run(arguments).out.find("unattributed"), std::string::npos);
  EXPECT_FALSE(parse_json(run(arguments + " --json").out, "standard output").contains("profile"));

  Outcome outcome = run(arguments + " --profile");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  for (const char* line : {"\nforward ", "\n  recurrent_sequence ", "\nbackward ",
                           "\n  sums of gradients ", "\naround ", "\n  optimiser ",
                           "\n  waiting for other shards ", "\nunattributed ", "\nall of a step "})
    EXPECT_NE(outcome.out.find(line), std::string::npos) << line << outcome.out;

  Json json = parse_json(run(arguments + " --profile --json").out, "standard output")["profile"];
  EXPECT_EQ(json["steps"], 2);
  std::set<std::string> phases;
  for (const Json& row : json["rows"]) {
    phases.insert(row["phase"]);
    if (row["name"] == "additive_attention") {
      EXPECT_EQ(row["calls"], 2 * 5);  // shards, positions
    }
  }
  EXPECT_EQ(phases, (std::set<std::string>{"forward", "backward", "around"}));
}

TEST_F(CommandLineTest, TrainSaysWhereItsTimeWent) {
  EXPECT_EQ(train_tiny().err.find("unattributed"), std::string::npos);
  Outcome outcome = run("train tiny.yaml --run r --overwrite --profile");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(outcome.out, "");
  size_t at = outcome.err.find("where the time of 6 steps went:\n");
  ASSERT_NE(at, std::string::npos) << outcome.err;
  for (const char* line :
       {"\n  forward ", "\n  backward ", "\n  data ", "\n  optimiser ", "\n  validation ",
        "\n  checkpoints ", "\n  logging ", "\n  unattributed ", "\n  in all "})
    EXPECT_NE(outcome.err.find(line, at), std::string::npos) << line << outcome.err;
  // A run that is over has made no step, and says so.
  outcome = run("train tiny.yaml --run r --resume --profile");
  EXPECT_NE(outcome.err.find("where the time of 0 steps went:\n"), std::string::npos)
      << outcome.err;
}

TEST_F(CommandLineTest, HelpIsComplete) {
  std::string overview = run("--help").out;
  EXPECT_EQ(run("").out, overview);
  for (const char* verb :
       {"train", "evaluate", "translate", "score", "tasks", "generate", "bench"}) {
    EXPECT_NE(overview.find(std::string("\n  ") + verb + " "), std::string::npos) << verb;
    Outcome help = run(std::string(verb) + " --help");
    EXPECT_EQ(help.code, 0);
    EXPECT_EQ(help.err, "");
    EXPECT_NE(help.out.find(std::string("Usage: lookback ") + verb), std::string::npos) << help.out;
    EXPECT_EQ(run(std::string("help ") + verb).out, help.out);
  }
  EXPECT_EQ(run("--version").out.rfind("lookback ", 0), 0u);
}

TEST_F(CommandLineTest, AReaderThatLeavesIsNoError) {
  Outcome outcome = shell("( \"$L\" generate copy --examples 100000; echo $? > code ) | head -n 1");
  EXPECT_EQ(lines(outcome.out).size(), 1u);
  EXPECT_EQ(outcome.err, "");
  EXPECT_EQ(read("code"), "0\n");
}

TEST_F(CommandLineTest, GenerateLeavesAnOlderFileWhereTheOtherCannotBeWritten) {
  Outcome outcome = shell("mkdir x.target; echo old > x.source; \"$L\" generate copy --output x");
  EXPECT_EQ(outcome.code, 2);
  EXPECT_EQ(read("x.source"), "old\n");
}

}  // namespace
}  // namespace lookback
