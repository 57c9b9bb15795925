#include "core/log.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <thread>
#include <vector>

#include "core/files.h"
#include "support/text_folder.h"

namespace lookback {
namespace {

class LogTest : public testing::Test {
 protected:
  void TearDown() override {
    log_close_file();
    set_log_quiet(false);
  }
  TextFolder folder_;
  std::string path_ = folder_.path("log.txt");
};

TEST_F(LogTest, TerminalLinesAreSober) {
  testing::internal::CaptureStderr();
  log_info("step {} of {}", 3, 10);
  log_warn("{} sentences left out", 2);
  log_error("lost {}", "{}");
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "step 3 of 10\n"
            "lookback: warning: 2 sentences left out\n"
            "lookback: error: lost {}\n");
}

TEST_F(LogTest, QuietLeavesWarningsAndTheFile) {
  testing::internal::CaptureStderr();
  log_to_file(path_);
  set_log_quiet(true);
  log_info("a");
  log_warn("b");
  set_log_quiet(false);
  log_info("c");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "lookback: warning: b\nc\n");
  EXPECT_EQ(read_lines(path_).size(), 3u);
}

TEST_F(LogTest, FileHasTimesAndIsAppendedTo) {
  testing::internal::CaptureStderr();
  log_to_file(path_);
  log_info("first");
  log_close_file();
  log_info("between");
  log_to_file(path_);
  log_warn("second");
  testing::internal::GetCapturedStderr();
  std::vector<std::string> lines = read_lines(path_);
  ASSERT_EQ(lines.size(), 2u);
  for (std::string& line : lines) {
    for (char& c : line) c = c >= '0' && c <= '9' ? '0' : c;
  }
  EXPECT_EQ(lines[0], "0000-00-00 00:00:00.000 info: first");
  EXPECT_EQ(lines[1], "0000-00-00 00:00:00.000 warning: second");
}

TEST_F(LogTest, ThreadsDoNotMixLines) {
  testing::internal::CaptureStderr();
  log_to_file(path_);
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([] {
      for (int k = 0; k < 200; ++k) log_info("{}", std::string(100, 'x'));
    });
  }
  for (std::thread& thread : threads) thread.join();
  testing::internal::GetCapturedStderr();
  std::vector<std::string> lines = read_lines(path_);
  EXPECT_EQ(lines.size(), 800u);
  for (const std::string& line : lines)
    EXPECT_TRUE(line.ends_with(": " + std::string(100, 'x'))) << line;
}

TEST_F(LogTest, RefusesAFileThatCannotBeOpened) {
  EXPECT_THROW(log_to_file(testing::TempDir()), UserError);
  write_file(path_, "");
  EXPECT_THROW(log_to_file(path_ + "/below"), UserError);
}

TEST_F(LogTest, AFileOpenedAfterAFullDiskIsWhole) {
  testing::internal::CaptureStderr();
  log_to_file("/dev/full");
  log_info("a");
  log_to_file(path_);
  log_info("b");
  log_info("c");
  testing::internal::GetCapturedStderr();
  EXPECT_EQ(read_lines(path_).size(), 2u);
}

TEST_F(LogTest, SaysOnceThatTheDiskIsFull) {
  testing::internal::CaptureStderr();
  log_to_file("/dev/full");
  log_info("a");
  log_info("b");
  std::string text = testing::internal::GetCapturedStderr();
  EXPECT_TRUE(
      text.starts_with("a\nlookback: warning: the log goes on without its file /dev/full: Failed "))
      << text;
  EXPECT_TRUE(text.ends_with("No space left on device\nb\n")) << text;
}

}  // namespace
}  // namespace lookback
