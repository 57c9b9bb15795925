#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/wait.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

namespace lookback::testing {

/// What a command left behind.
struct Outcome {
  int code = -1;
  std::string out, err;
};

/// A folder that goes with the test, in which the program runs as a person would run it.
class CommandLine : public ::testing::Test {
 protected:
  CommandLine() {
    std::string name = ::testing::TempDir() + "lookback_cli_XXXXXX";
    folder_ = mkdtemp(name.data());
    write("tiny.yaml", kTiny);
  }
  ~CommandLine() override { std::filesystem::remove_all(folder_); }

  /// A copy task that a few steps of a model of 2,626 parameters train on.
  static constexpr const char* kTiny = R"(name: tiny
data:
  task: {type: copy, symbols: 6, min_length: 1, max_length: 4}
  held_out: {examples: 40}
model:
  encoder: {embedding: 8, hidden: 12}
  decoder: {embedding: 8, hidden: 12}
  attention: {type: bahdanau, units: 8}
train:
  steps: 6
  batch: {size: 4}
  validate: {every: 3}
  log_every: 2
)";

  std::string path(const std::string& name) const { return folder_ + "/" + name; }
  void write(const std::string& name, const std::string& text) const {
    std::ofstream(path(name), std::ios::binary) << text;
  }
  std::string read(const std::string& name) const {
    std::ifstream file(path(name), std::ios::binary);
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
  }
  bool exists(const std::string& name) const { return std::filesystem::exists(path(name)); }

  /// Runs a line of the shell; `$L` is the program.
  Outcome shell(const std::string& line) const {
    std::string command = "cd '" + folder_ + "' && L='" LOOKBACK_BINARY_DIR "/lookback'\n{ " +
                          line + "\n} > .out 2> .err < /dev/null";
    int status = std::system(command.c_str());
    return {.code = WIFEXITED(status) ? WEXITSTATUS(status) : -1,
            .out = read(".out"),
            .err = read(".err")};
  }
  /// Runs the program with these arguments.
  Outcome run(const std::string& arguments) const { return shell("\"$L\" " + arguments); }

  Outcome train_tiny() const {
    Outcome outcome = run("train tiny.yaml --run r");
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    return outcome;
  }

  /// The program refuses: exit 2, one line that holds `text`, nothing on standard output.
  void expect_refused(const Outcome& outcome, const std::string& text) const {
    EXPECT_EQ(outcome.code, 2) << outcome.err;
    EXPECT_EQ(outcome.out, "");
    EXPECT_TRUE(outcome.err.starts_with("lookback: error: ")) << outcome.err;
    EXPECT_NE(outcome.err.find(text), std::string::npos)
        << "wanted: " << text << "\ngot: " << outcome.err;
    EXPECT_EQ(outcome.err.find('\n'), outcome.err.size() - 1) << outcome.err;
  }
  void expect_refused(const std::string& arguments, const std::string& text) const {
    SCOPED_TRACE("lookback " + arguments);
    expect_refused(run(arguments), text);
  }

  std::string folder_;
};

inline std::vector<std::string> lines(const std::string& text) {
  std::vector<std::string> out;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) out.push_back(line);
  return out;
}

}  // namespace lookback::testing
