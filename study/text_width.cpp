#include "study/text_width.h"

#include <algorithm>
#include <array>
#include <utility>

#include "core/files.h"

namespace lookback {
namespace {

using Range = std::pair<char32_t, char32_t>;

// After Unicode 15's General_Category (Mn, Me, Cf of the scripts that are likely in corpora) and
// East_Asian_Width (W and F), neighbouring ranges joined.
constexpr std::array<Range, 22> kNarrow = {{
    {0x00ad, 0x00ad}, {0x0300, 0x036f}, {0x0483, 0x0489}, {0x0591, 0x05bd}, {0x0610, 0x061a},
    {0x064b, 0x065f}, {0x0670, 0x0670}, {0x06d6, 0x06dc}, {0x093c, 0x093c}, {0x0941, 0x0948},
    {0x094d, 0x094d}, {0x0e31, 0x0e31}, {0x0e34, 0x0e3a}, {0x0e47, 0x0e4e}, {0x1ab0, 0x1aff},
    {0x1dc0, 0x1dff}, {0x200b, 0x200f}, {0x2060, 0x2064}, {0x20d0, 0x20ff}, {0xfe00, 0xfe0f},
    {0xfe20, 0xfe2f}, {0xfeff, 0xfeff},
}};
constexpr std::array<Range, 14> kWide = {{
    {0x1100, 0x115f},
    {0x231a, 0x231b},
    {0x2e80, 0x303e},
    {0x3041, 0x33ff},
    {0x3400, 0x4dbf},
    {0x4e00, 0x9fff},
    {0xa000, 0xa4cf},
    {0xac00, 0xd7a3},
    {0xf900, 0xfaff},
    {0xfe30, 0xfe6f},
    {0xff00, 0xff60},
    {0xffe0, 0xffe6},
    {0x1f300, 0x1faff},
    {0x20000, 0x3fffd},
}};

template <size_t n>
bool within(const std::array<Range, n>& ranges, char32_t point) {
  return std::any_of(ranges.begin(), ranges.end(), [point](const Range& range) {
    return range.first <= point && point <= range.second;
  });
}

/// Takes one code point off the front of valid UTF-8.
char32_t take(std::string_view& text) {
  unsigned char first = static_cast<unsigned char>(text[0]);
  size_t bytes = first < 0x80 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
  bytes = std::min(bytes, text.size());
  char32_t point = bytes == 1 ? first : first & (0xff >> (bytes + 1));
  for (size_t i = 1; i < bytes; ++i) point = point << 6 | (text[i] & 0x3f);
  text.remove_prefix(bytes);
  return point;
}

size_t columns(char32_t point) {
  if (point < 0x300) return point == 0xad ? 0 : 1;
  return within(kNarrow, point) ? 0 : within(kWide, point) ? 2 : 1;
}

bool control(char32_t point) {
  return (point < 0x20 && point != '\n') || (point >= 0x7f && point < 0xa0) ||
         (point >= 0x202a && point <= 0x202e) || (point >= 0x2066 && point <= 0x2069) ||
         point == 0x2028 || point == 0x2029;
}

/// How many bytes of the text's front take at most `width` columns.
size_t fitting(std::string_view text, size_t width) {
  std::string_view rest = text;
  size_t used = 0;
  while (!rest.empty()) {
    std::string_view next = rest;
    used += columns(take(next));
    if (used > width) break;
    rest = next;
  }
  return text.size() - rest.size();
}

void wrap_line(const std::string& line, size_t width, std::vector<std::string>& lines) {
  std::string_view rest = line;
  while (text_width(rest) > width) {
    size_t cut = fitting(rest, width);
    // At least one character goes on, were it wider than the line.
    if (cut == 0) {
      std::string_view next = rest;
      take(next);
      cut = rest.size() - next.size();
    }
    size_t blank = rest.rfind(' ', cut);
    if (blank != std::string_view::npos && rest.find_first_not_of(' ') < blank) cut = blank;
    lines.emplace_back(rest.substr(0, cut));
    rest.remove_prefix(cut);
    rest.remove_prefix(std::min(rest.find_first_not_of(' '), rest.size()));
    if (rest.empty()) return;
  }
  lines.emplace_back(rest);
}

}  // namespace

std::string printable(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    size_t valid = std::min(invalid_utf8(text), text.size());
    std::string_view good = text.substr(0, valid);
    while (!good.empty()) {
      std::string_view rest = good;
      char32_t point = take(rest);
      if (point == '\r' && rest.starts_with('\n')) {
        // The end of a line, written in two characters.
      } else if (point == '\t') {
        out += "    ";
      } else if (control(point)) {
        out += "\uFFFD";
      } else {
        out += good.substr(0, good.size() - rest.size());
      }
      good = rest;
    }
    text.remove_prefix(valid);
    if (text.empty()) break;
    out += "\uFFFD";
    text.remove_prefix(1);
  }
  return out;
}

size_t text_width(std::string_view text) {
  size_t width = 0;
  while (!text.empty()) width += columns(take(text));
  return width;
}

std::string shortened(const std::string& text, size_t width) {
  if (text_width(text) <= width) return text;
  if (width == 0) return "";
  return text.substr(0, fitting(text, width - 1)) + "…";
}

std::string padded(const std::string& text, size_t width, bool flush_right) {
  size_t own = text_width(text);
  std::string blanks(width > own ? width - own : 0, ' ');
  return flush_right ? blanks + text : text + blanks;
}

std::vector<std::string> wrapped(const std::string& text, size_t width) {
  std::vector<std::string> lines;
  for (size_t start = 0; start <= text.size();) {
    size_t end = std::min(text.find('\n', start), text.size());
    wrap_line(text.substr(start, end - start), std::max<size_t>(1, width), lines);
    start = end + 1;
  }
  return lines;
}

}  // namespace lookback
