#include "core/files.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>

#include "core/error.h"
#include "support/text_folder.h"

namespace lookback {
namespace {

namespace fs = std::filesystem;

/// A folder of its own for each test, gone afterwards.
class Files : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = testing::TempDir() + "files-" +
              testing::UnitTest::GetInstance()->current_test_info()->name();
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::string path(const std::string& name) const { return folder_ + "/" + name; }
  size_t entries() const {
    return static_cast<size_t>(std::distance(fs::directory_iterator(folder_), {}));
  }

  std::string folder_;
};

TEST_F(Files, WritesAndReadsBack) {
  const std::string text("a\0b\n", 4);
  write_file(path("x"), text);
  EXPECT_EQ(read_file(path("x")), text);
  write_file(path("x"), "");
  EXPECT_EQ(read_file(path("x")), "");
  const std::string big(3'000'000, 'z');
  const std::vector<std::string_view> pieces = {"head", big, "", "tail"};
  write_pieces(path("x"), pieces);
  EXPECT_EQ(read_file(path("x")), "head" + big + "tail");
  EXPECT_EQ(entries(), 1u);
}

TEST_F(Files, FollowsASymbolicLink) {
  write_file(path("target"), "old");
  fs::create_symlink("target", path("link"));
  write_file(path("link"), "new");
  EXPECT_TRUE(fs::is_symlink(path("link")));
  EXPECT_EQ(read_file(path("target")), "new");
}

TEST_F(Files, ReadsAPipe) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  ASSERT_EQ(write(ends[1], "through", 7), 7);
  close(ends[1]);
  EXPECT_EQ(read_file(format("/dev/fd/{}", ends[0])), "through");
  close(ends[0]);
}

TEST_F(Files, FullDiskLeavesTheOldFileAndNoTemporary) {
  write_file(path("x"), "old");
  // A limit on the size of files stands in for a full disk: the write fails half way.
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  auto handler = std::signal(SIGXFSZ, SIG_IGN);
  rlimit small = before;
  small.rlim_cur = 100'000;
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  std::string text = user_error([&] { write_file(path("x"), std::string(1'000'000, 'z')); });
  setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  EXPECT_EQ(text, path("x") + ": cannot be written: File too large");
  EXPECT_EQ(read_file(path("x")), "old");
  EXPECT_EQ(entries(), 1u);
}

TEST_F(Files, FullDiskIsNamed) {
  EXPECT_EQ(user_error([] { write_file("/dev/full", "x"); }),
            "/dev/full: cannot be written: No space left on device");
}

TEST_F(Files, RefusesWhereNothingCanBeWritten) {
  EXPECT_EQ(user_error([&] { write_file(path("no/x"), "x"); }),
            path("no/x") + ": cannot be written: the folder " + path("no") + " does not exist");
  EXPECT_EQ(user_error([&] { write_file(folder_, "x"); }),
            folder_ + ": cannot be written: it is a folder, not a file");
  write_file(path("file"), "x");
  EXPECT_EQ(user_error([&] { write_file(path("file/x"), "x"); }),
            path("file/x") + ": cannot be written: Not a directory");
  EXPECT_EQ(entries(), 1u);
}

TEST_F(Files, RefusesWhatCannotBeRead) {
  EXPECT_EQ(user_error([&] { read_file(path("x")); }), path("x") + ": no such file");
  EXPECT_EQ(user_error([&] { read_lines(path("x")); }), path("x") + ": no such file");
  EXPECT_EQ(user_error([&] { read_file(folder_); }), folder_ + ": is a folder, not a file");
  write_file(path("x"), "12345");
  InputFile file(path("x"));
  EXPECT_EQ(file.size(), 5u);
  char bytes[4] = {};
  file.read_at(1, bytes, 4);
  EXPECT_EQ(std::string(bytes, 4), "2345");
  EXPECT_EQ(user_error([&] { file.read_at(3, bytes, 4); }),
            path("x") + ": ends at byte 5, 2 bytes too early");
}

TEST_F(Files, SplitsLines) {
  auto lines = [&](std::string_view text) {
    write_file(path("x"), text);
    return read_lines(path("x"));
  };
  using Lines = std::vector<std::string>;
  EXPECT_EQ(lines(""), Lines());
  EXPECT_EQ(lines("\n"), Lines({""}));
  EXPECT_EQ(lines("a\nb"), Lines({"a", "b"}));
  EXPECT_EQ(lines("a\n\nb\n"), Lines({"a", "", "b"}));
  EXPECT_EQ(lines("a\r\nb\r\r\n"), Lines({"a", "b\r"}));
  EXPECT_EQ(lines("\xEF\xBB\xBF"
                  "a\n\xEF\xBB\xBF"
                  "b\n"),
            Lines({"a",
                   "\xEF\xBB\xBF"
                   "b"}));
  EXPECT_EQ(lines("\xEF\xBB\xBF"), Lines({""}));
}

TEST_F(Files, NamesLineAndByteOfInvalidUtf8) {
  write_file(path("x"),
             "good\n\xC3\xBC"
             "ber\xff!\n");
  EXPECT_EQ(user_error([&] { read_lines(path("x")); }),
            path("x") + ":2:byte 6: invalid UTF-8 (0xff)");
  EXPECT_EQ(user_error([] { check_utf8("ab\x80", "standard input", 7); }),
            "standard input:7:byte 3: invalid UTF-8 (0x80)");
}

TEST(Utf8, AcceptsAllOfUnicode) {
  for (const char* text : {"", "a", "\x7F", "\xC2\x80", "\xDF\xBF", "\xE0\xA0\x80", "\xED\x9F\xBF",
                           "\xEE\x80\x80", "\xEF\xBF\xBF", "\xF0\x90\x80\x80", "\xF4\x8F\xBF\xBF"})
    EXPECT_EQ(invalid_utf8(text), std::string_view::npos) << text;
}

TEST(Utf8, RefusesOverlongSurrogatesAndBeyond) {
  for (const char* text :
       {"\x80", "\xBF", "\xC0\x80", "\xC1\xBF", "\xC2", "\xC2\x41", "\xE0\x9F\xBF", "\xE0\xA0",
        "\xE0\xA0\x41", "\xED\xA0\x80", "\xED\xBF\xBF", "\xF0\x8F\xBF\xBF", "\xF0\x90\x80",
        "\xF4\x90\x80\x80", "\xF5\x80\x80\x80", "\xFE", "\xFF"})
    EXPECT_EQ(invalid_utf8(std::string("ok") + text), 2u) << testing::PrintToString(text);
}

}  // namespace
}  // namespace lookback
