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
    return python("\"" LOOKBACK_SOURCE_DIR "/examples/pytorch/\"" + arguments);
  }
  /// -B leaves no __pycache__ in the sources; one thread is fastest for models this small.
  Outcome python(const std::string& arguments) const {
    return shell("OMP_NUM_THREADS=1 " + std::string(kPython) + " -B " + arguments);
  }
  /// Both programs give the same log-probabilities to the lines of s and t. One process opens all
  /// of the models: it takes a second to start.
  void expect_equal_scores(const std::vector<std::string>& models) const {
    std::string program = "import sys; sys.path.append(\"" LOOKBACK_SOURCE_DIR
                          "/examples/pytorch\"); from open_in_pytorch import main; ";
    std::string all;
    for (const std::string& model : models) {
      Outcome ours = run("score " + model + " s t");
      ASSERT_EQ(ours.code, 0) << ours.err;
      all += ours.out;
      program += "main(\"" + model + "\", \"s\", \"t\"); ";
    }
    Outcome theirs = python("-c '" + program + "'");
    ASSERT_EQ(theirs.code, 0) << theirs.err;
    std::vector<std::string> a = lines(all), b = lines(theirs.out);
    ASSERT_EQ(a.size(), 4 * models.size());
    ASSERT_EQ(b.size(), a.size()) << theirs.out;
    for (size_t i = 0; i < a.size(); ++i)
      EXPECT_NEAR(std::stod(a[i]), std::stod(b[i]), 1e-4) << models[i / 4] << ", line " << i % 4;
  }
};

TEST_F(PyTorchExamples, OpenWhatLookbackTrained) {
  const std::string large =
      " --set model.encoder.cell=lstm --set model.decoder.cell=lstm"
      " --set model.encoder.layers=2 --set model.decoder.layers=2"
      " --set model.encoder.bidirectional=true --set model.decoder.initial_state=bridge";
  auto transformer = [](const std::string& rest) {
    const std::string side =
        "=\"{type: transformer, width: 8, heads: 2, feed_forward: 12, layers: 2, " + rest + "}\"";
    return " --set model.attention=\"{type: none}\" --set model.encoder" + side +
           " --set model.decoder" + side;
  };
  std::vector<std::string> models;
  for (const std::string& settings :
       {std::string(), large, transformer("norm: pre"),
        transformer("norm: post, activation: gelu, positions: learned, max_positions: 20")}) {
    std::string folder = "r" + std::to_string(models.size());
    Outcome trained = run("train tiny.yaml --run " + folder + settings);
    ASSERT_EQ(trained.code, 0) << trained.err;
    models.push_back(folder + "/best.safetensors");
  }
  expect_equal_scores(models);
}

TEST_F(PyTorchExamples, RefuseWhatTheyDoNotKnow) {
  ASSERT_EQ(run("train tiny.yaml --run r --set model.attention=\"{type: none}\"").code, 0);
  Outcome outcome = example("open_in_pytorch.py r/best.safetensors s t");
  EXPECT_EQ(outcome.code, 1);
  EXPECT_EQ(outcome.err, "these modules know type: bahdanau, not none\n");
}

TEST_F(PyTorchExamples, WriteModelsThatLookbackOpens) {
  const std::vector<std::string> kinds{"gru", "transformer"};
  for (const std::string& kind : kinds) {
    SCOPED_TRACE(kind);
    Outcome made = example("to_lookback.py " + kind + " --steps 2 --model " + kind);
    ASSERT_EQ(made.code, 0) << made.err;
    EXPECT_EQ(run("evaluate " + kind + " --set data.held_out.examples=20").code, 0);
    EXPECT_EQ(shell("echo a b | \"$L\" translate " + kind).code, 0);
  }
  expect_equal_scores(kinds);
}

}  // namespace
}  // namespace lookback
