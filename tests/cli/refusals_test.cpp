// What the program refuses: each time exit 2, one clear line, nothing on standard output, nothing
// half-written.

#include "tests/cli/command_line.h"

namespace lookback {
namespace {

using testing::CommandLine;
using testing::lines;
using testing::Outcome;

using RefusalTest = CommandLine;

TEST_F(RefusalTest, UnknownVerbs) {
  expect_refused("trian tiny.yaml",
                 "unknown verb \"trian\"; did you mean \"train\"? (known: train, evaluate,");
  expect_refused("--threads 2", "unknown option \"--threads\"");
  for (const char* later : {"average", "vocab", "doctor"})
    expect_refused(later, std::string("has no verb \"") + later + "\" yet");
}

TEST_F(RefusalTest, BadArguments) {
  expect_refused("train", "train: CONFIG is missing; try: lookback train --help");
  expect_refused("train --stesp 3 tiny.yaml", "train: unknown option \"--stesp\"");
  expect_refused("train tiny.yaml --overwite",
                 "unknown option \"--overwite\"; did you mean \"--overwrite\"?");
  expect_refused("train tiny.yaml --thread=2",
                 "unknown option \"--thread\"; did you mean \"--threads\"?");
  expect_refused("train tiny.yaml more.yaml",
                 "unexpected argument \"more.yaml\"; expected only CONFIG");
  expect_refused("tasks copy", "unexpected argument \"copy\"; only options are expected");
  expect_refused("train tiny.yaml --run", "option --run needs a value");
  expect_refused("train tiny.yaml --run --resume",
                 "option --run needs a value, but --resume follows");
  expect_refused("train tiny.yaml --run a --run b", "--run is given 2 times, must be once");
  expect_refused("train tiny.yaml --run ''", "--run is empty");
  expect_refused("train tiny.yaml --resume --overwrite", "contradict");
  expect_refused("train tiny.yaml --resume=maybe", "option --resume takes no value");
  expect_refused("train tiny.yaml --set --run x", "option --set needs a value, but --run follows");
  expect_refused("train -- --absent", "--absent: ");
  EXPECT_FALSE(exists("runs"));
}

TEST_F(RefusalTest, NumbersOutOfRange) {
  expect_refused("train tiny.yaml --threads 0",
                 "--threads: must be a whole number between 1 and 1024, but is 0");
  expect_refused("train tiny.yaml --threads -1", "but is -1");
  expect_refused("bench tiny.yaml --batch -1",
                 "--batch: must be a whole number between 1 and 1000000, but is -1");
  expect_refused("bench tiny.yaml --steps x",
                 "--steps: must be a whole number between 1 and 1000000, but is x");
  expect_refused("bench tiny.yaml --steps 2.5", "but is 2.5");
  expect_refused("bench tiny.yaml --steps 99999999999999999999", "but is 99999999999999999999");
  expect_refused("bench tiny.yaml --batch 1000000 --source-length 50",
                 "1000000 sentences of 50 tokens");
  expect_refused("generate copy --seed -3", "--seed: must be a whole number between 0 and");
  expect_refused("generate copy --split tset",
                 "--split: unknown value \"tset\"; did you mean \"test\"?");
}

TEST_F(RefusalTest, BadConfigurations) {
  write("typo.yaml",
        "name: x\ndata: {task: {type: copy}}\nmodel:\n  encoder: {hiden: 3}\ntrain: {steps: 1}\n");
  expect_refused("train typo.yaml",
                 "typo.yaml:4: model.encoder.hiden: unknown key; did you mean \"hidden\"?");
  expect_refused("train tiny.yaml --set train.stesp=3",
                 "--set train.stesp: unknown key; did you mean \"steps\"?");
  expect_refused("train tiny.yaml --set train.steps=many",
                 "--set train.steps: must be a whole number, but is many");
  expect_refused("train tiny.yaml --set train.steps=0",
                 "--set train.steps: must be between 1 and 1000000000, but is 0");
  expect_refused("train tiny.yaml --set train.steps", "must be KEY=VALUE");
  expect_refused("train tiny.yaml --set train.optimizer.lr=-1",
                 "train.optimizer.lr: must be at least 0, but is -1");
  expect_refused("train tiny.yaml --set data.task.type=cpoy", "did you mean \"copy\"?");
  expect_refused("bench tiny.yaml --set model.encoder.hidden=0",
                 "model.encoder.hidden: must be between 1 and 65536");
  expect_refused("generate copy --set symbol=3",
                 "--set symbol: unknown key; did you mean \"symbols\"?");
  expect_refused("generate cpoy", "unknown task \"cpoy\"; did you mean \"copy\"?");
  expect_refused("train absent.yaml", "absent.yaml: ");
  expect_refused("train .", ".: ");
  write("bad.yaml", "name: [x\n");
  expect_refused("train bad.yaml", "bad.yaml:2:1: bad YAML");
  write("empty.yaml", "");
  expect_refused("train empty.yaml", "empty.yaml: the configuration is empty");
  EXPECT_FALSE(exists("runs"));
}

class TextRefusalTest : public RefusalTest {
 protected:
  TextRefusalTest() {
    write("a.txt", "a b\nc d\n");
    write("short.txt", "a b\n");
    write("empty.txt", "");
    write("latin.txt", "a b\nc \xE9 d\n");
    write("text.yaml", R"(name: text
data: {corpus: {train: {source: a.txt, target: a.txt}, valid: {source: a.txt, target: a.txt}, min_frequency: 1}}
train: {steps: 1}
)");
  }
  void expect_bad(const std::string& setting, const std::string& text) const {
    expect_refused("train text.yaml --set data.corpus." + setting, text);
  }
};

TEST_F(TextRefusalTest, BadText) {
  expect_bad("train.source=short.txt", "short.txt has 1 lines but ");
  expect_bad("train.source=short.txt",
             "a.txt has 2; parallel text needs as many lines on both sides");
  expect_bad("valid.target=short.txt", "short.txt has 1");
  expect_bad("train.source=empty.txt", "empty.txt: the file is empty");
  expect_bad("train.source=latin.txt", "latin.txt:2:byte 3: invalid UTF-8 (0xe9)");
  expect_bad("train.source=absent.txt", "absent.txt: ");
  expect_bad("min_frequency=9", "the vocabulary is empty: no word occurs 9 times or more");
  expect_bad("max_length=1", "no training pair is left");
  EXPECT_FALSE(exists("runs"));
}

TEST_F(TextRefusalTest, BadTextForAModel) {
  train_tiny();
  expect_refused("score r a.txt short.txt", "a.txt has 2 lines but short.txt has 1");
  expect_refused("score r a.txt empty.txt", "empty.txt: the file is empty");
  expect_refused("score r a.txt latin.txt", "latin.txt:2:byte 3: invalid UTF-8");
  expect_refused("score r a.txt", "score: TARGET is missing");
  expect_refused(shell("\"$L\" translate r < latin.txt"), "<stdin>:2:byte 3: invalid UTF-8 (0xe9)");
  expect_refused(shell("\"$L\" translate r < ."), "standard input cannot be read");
  expect_refused("evaluate r --set train.steps=3", "only keys of data and decode can be set");
  expect_refused("evaluate r --set data.task.symbols=7",
                 "its source vocabulary has 11 tokens and differs");
}

TEST_F(RefusalTest, SentencesLongerThanAModelReads) {
  std::string side =
      "={type: transformer, width: 8, heads: 2, feed_forward: 8, layers: 1, "
      "positions: learned, max_positions: 5}' ";
  std::string small =
      "train tiny.yaml --run r --set 'model.attention={type: none}' --set "
      "'model.encoder" +
      side + "--set 'model.decoder" + side;
  expect_refused(small + "--set data.task.max_length=5",
                 "data.task.max_length: 5: a source of length 5 has 6 tokens with the end mark, "
                 "but the encoder's learned positions end at 5 (model.encoder.max_positions)");
  EXPECT_FALSE(exists("r"));
  EXPECT_EQ(run(small).code, 0);
  expect_refused("evaluate r --set data.task.max_length=7",
                 "data.task.max_length: 7: a source of ");
  EXPECT_EQ(run("evaluate r").code, 0);
}

TEST_F(RefusalTest, FilesThatAreNoModel) {
  train_tiny();
  expect_refused("evaluate absent", "absent: ");
  expect_refused("evaluate .", ".: holds no run");
  expect_refused("evaluate tiny.yaml", "tiny.yaml: ");
  ASSERT_EQ(
      shell("head -c 5000 r/best.safetensors > cut; head -c 5 r/best.safetensors > stub; : > empty")
          .code,
      0);
  for (const char* file : {"cut", "stub", "empty"}) {
    expect_refused(std::string("evaluate ") + file, std::string(file) + ": ");
    expect_refused(std::string("translate ") + file, std::string(file) + ": ");
  }
  // As another program writes it: one tensor, no metadata.
  const std::string header = R"({"w":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})";
  write("foreign",
        std::string(1, static_cast<char>(header.size())) + std::string(7, '\0') + header + "1234");
  expect_refused("score foreign tiny.yaml tiny.yaml",
                 "foreign: a safetensors file, but not of a lookback model");
}

TEST_F(RefusalTest, AFolderThatHoldsARun) {
  expect_refused("train tiny.yaml --run r --resume", "r: holds no state to resume from");
  train_tiny();
  std::string model = read("r/last.safetensors");
  expect_refused("train tiny.yaml --run r --set seed=2", "r: holds a run already; give --resume");
  expect_refused("train tiny.yaml --run r --resume --set seed=2",
                 "the run was started with another seed");
  EXPECT_EQ(read("r/last.safetensors"), model);
  EXPECT_EQ(run("train tiny.yaml --run r --overwrite --set seed=2").code, 0);
  EXPECT_NE(read("r/last.safetensors"), model);
  expect_refused("train tiny.yaml --run tiny.yaml/r", "tiny.yaml/r: ");
}

TEST_F(RefusalTest, AFullDisk) {
  // 4 KiB a file: enough for the configuration, not for the model. The output goes through a pipe.
  Outcome outcome =
      shell("ulimit -f 8; { \"$L\" train tiny.yaml --run r 2>&1; echo $? > code; } | cat >&2");
  EXPECT_EQ(read("code"), "2\n");
  std::vector<std::string> said = lines(outcome.err);
  ASSERT_FALSE(said.empty());
  EXPECT_EQ(said.back().rfind("lookback: error: r/state.safetensors: cannot be written: ", 0), 0u)
      << outcome.err;
  for (const auto& entry : std::filesystem::directory_iterator(path("r")))
    EXPECT_EQ(entry.path().string().find("safetensors"), std::string::npos) << entry.path();

  // Nothing there is taken for a run.
  EXPECT_EQ(run("train tiny.yaml --run r").code, 0);
  expect_refused(shell("\"$L\" tasks > /dev/full"),
                 "standard output cannot be written: No space left");
  write("in", "a b\n");
  expect_refused(shell("\"$L\" translate r --attention /dev/full < in"),
                 "/dev/full: cannot be written: No space left");
  expect_refused("generate copy --output absent/p", "the folder absent does not exist");
  outcome =
      shell("ulimit -f 1; { \"$L\" generate copy --output p 2>&1; echo $? > code; } | cat >&2");
  expect_refused({.code = std::stoi(read("code")), .out = "", .err = outcome.err},
                 "p.source: cannot be written");
  EXPECT_FALSE(exists("p.source"));
  EXPECT_FALSE(exists("p.target"));
  // Where the second file fails, the first is not left behind.
  ASSERT_EQ(shell("mkdir p.target").code, 0);
  expect_refused("generate copy --output p", "p.target: cannot be written: it is a folder");
  EXPECT_FALSE(exists("p.source"));
}

}  // namespace
}  // namespace lookback
