#include "study/text_width.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace lookback {
namespace {

using Lines = std::vector<std::string>;

TEST(TextWidth, CountsColumnsNotBytes) {
  EXPECT_EQ(text_width(""), 0u);
  EXPECT_EQ(text_width("abc"), 3u);
  EXPECT_EQ(text_width("naïve"), 5u);
  EXPECT_EQ(text_width("注意力"), 6u);
  EXPECT_EQ(text_width("e\u0301"), 1u);  // e and a combining accent
  EXPECT_EQ(text_width("😀"), 2u);
}

TEST(TextWidth, PrintableTakesAwayWhatCommandsATerminal) {
  EXPECT_EQ(printable("a\tb"), "a    b");
  EXPECT_EQ(printable("\x1b[31mred"), "\uFFFD[31mred");
  EXPECT_EQ(printable(std::string("a\0b", 3)), "a\uFFFDb");
  EXPECT_EQ(printable("a\nb\r\nc\rd"), "a\nb\nc\uFFFDd");
  EXPECT_EQ(printable("\u202Eabc\u2028"), "\uFFFDabc\uFFFD");
  EXPECT_EQ(printable("a\xff\xc3"), "a\uFFFD\uFFFD");
  EXPECT_EQ(printable("\xe6\xb3\xa8\x80z"), "注\uFFFDz");
  EXPECT_EQ(printable("Ελληνικά 注意 ü"), "Ελληνικά 注意 ü");
}

TEST(TextWidth, ShortensAndPads) {
  EXPECT_EQ(shortened("abc", 3), "abc");
  EXPECT_EQ(shortened("abcd", 3), "ab…");
  EXPECT_EQ(shortened("注意力", 4), "注…");
  EXPECT_EQ(shortened("abc", 0), "");
  EXPECT_EQ(padded("ü", 3), "ü  ");
  EXPECT_EQ(padded("ü", 3, true), "  ü");
  EXPECT_EQ(padded("abcd", 3), "abcd");
}

TEST(TextWidth, WrapsBetweenWords) {
  EXPECT_EQ(wrapped("one two three", 8), (Lines{"one two", "three"}));
  EXPECT_EQ(wrapped("one two three", 7), (Lines{"one two", "three"}));
  EXPECT_EQ(wrapped("abcdefgh ij", 3), (Lines{"abc", "def", "gh", "ij"}));
  EXPECT_EQ(wrapped("a\n\nb", 5), (Lines{"a", "", "b"}));
  EXPECT_EQ(wrapped("", 5), Lines{""});
  EXPECT_EQ(wrapped("注意力", 4), (Lines{"注意", "力"}));
  EXPECT_EQ(wrapped("注意", 1), (Lines{"注", "意"}));
  for (const std::string& line : wrapped("  indented and longer than it may be", 9))
    EXPECT_LE(text_width(line), 9u);
}

}  // namespace
}  // namespace lookback
