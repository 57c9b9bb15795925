#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace lookback {

/// The text as a terminal or a page may safely be given it: bytes that are no valid UTF-8 and
/// control characters (an escape sequence moves the cursor; a bidirectional override turns the rest
/// of a line around) become U+FFFD; tabs become four blanks. Line ends stay.
std::string printable(std::string_view text);

/// Columns that a text takes on a terminal: 2 for a Chinese character or an emoji, 0 for a
/// combining mark. The text is valid UTF-8 without line ends.
size_t text_width(std::string_view text);

/// The longest beginning that takes at most `width` columns; where that is not all, it ends in an
/// ellipsis.
std::string shortened(const std::string& text, size_t width);

/// With blanks up to `width` columns, behind the text or (flush right) before it.
std::string padded(const std::string& text, size_t width, bool flush_right = false);

/// A text's lines, each at most `width` columns wide: broken between words, inside a word only where
/// it is wider than a line. An empty line stays one.
std::vector<std::string> wrapped(const std::string& text, size_t width);

}  // namespace lookback
