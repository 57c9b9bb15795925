// The examples of examples/pytorch, as a person runs them: a model file opened in PyTorch, and one
// written by it.

#include <cmath>

#include "tests/cli/command_line.h"

namespace lookback {
namespace {

using testing::CommandLine;
using testing::lines;
using testing::Outcome;

constexpr const char* kPython = "/usr/bin/python3";  // Debian's, which has python3-torch

class PyTorchExamples : public CommandLine {
 protected:
  void SetUp() override {
    // Looked for, not imported: that takes a second.
    const std::string look =
        " -c 'from importlib.util import find_spec as f; exit(not (f(\"torch\") and f(\"yaml\")))'";
    if (shell(kPython + look).code != 0)
      GTEST_SKIP() << kPython << " has no PyTorch (python3-torch)";
    write("s", "a b c\n\nf unseen a\nb\n");
    write("t", "a b c\na\nunseen d e\n\n");
  }
  Outcome example(const std::string& arguments) const {
    // -B leaves no __pycache__ in the sources.
    return shell(std::string(kPython) + " -B " LOOKBACK_SOURCE_DIR "/examples/pytorch/" +
                 arguments);
  }
  /// Both programs give the same log-probabilities to the lines of s and t.
  void expect_equal_scores(const std::string& model) const {
    Outcome ours = run("score " + model + " s t"),
            theirs = example("open_in_pytorch.py " + model + " s t");
    ASSERT_EQ(ours.code, 0) << ours.err;
    ASSERT_EQ(theirs.code, 0) << theirs.err;
    std::vector<std::string> a = lines(ours.out), b = lines(theirs.out);
    ASSERT_EQ(a.size(), 4u);
    ASSERT_EQ(b.size(), 4u) << theirs.out;
    for (size_t i = 0; i < 4; ++i) EXPECT_NEAR(std::stod(a[i]), std::stod(b[i]), 1e-4) << i;
  }
};

TEST_F(PyTorchExamples, OpensRecurrentModels) {
  const std::string large =
      " --set model.encoder.cell=lstm --set model.decoder.cell=lstm"
      " --set model.encoder.layers=2 --set model.decoder.layers=2"
      " --set model.encoder.bidirectional=true --set model.decoder.initial_state=bridge";
  for (const std::string& settings : {std::string(), large}) {
    SCOPED_TRACE(settings);
    Outcome trained = run("train tiny.yaml --run r --overwrite" + settings);
    ASSERT_EQ(trained.code, 0) << trained.err;
    expect_equal_scores("r/best.safetensors");
  }
}

TEST_F(PyTorchExamples, RefusesWhatItDoesNotKnow) {
  ASSERT_EQ(run("train tiny.yaml --run r --set model.attention=\"{type: none}\"").code, 0);
  Outcome outcome = example("open_in_pytorch.py r/best.safetensors s t");
  EXPECT_EQ(outcome.code, 1);
  EXPECT_EQ(outcome.err, "open_in_pytorch.py knows type: bahdanau, not none\n");
}

TEST_F(PyTorchExamples, WritesModelsThatLookbackOpens) {
  for (const std::string kind : {"gru"}) {
    SCOPED_TRACE(kind);
    Outcome made = example("to_lookback.py m --steps 2 --model " + kind);
    ASSERT_EQ(made.code, 0) << made.err;
    expect_equal_scores("m");
    EXPECT_EQ(run("evaluate m --set data.held_out.examples=20").code, 0);
    EXPECT_EQ(shell("echo a b | \"$L\" translate m").code, 0);
  }
}

}  // namespace
}  // namespace lookback
