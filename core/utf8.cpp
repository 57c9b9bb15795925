#include "core/error.h"
#include "core/files.h"

namespace lookback {

size_t invalid_utf8(std::string_view text) {
  for (size_t i = 0; i < text.size();) {
    auto byte = [&](size_t offset) { return static_cast<unsigned char>(text[i + offset]); };
    unsigned char first = byte(0);
    if (first < 0x80) {
      ++i;
      continue;
    }
    // The second byte's bounds leave out overlong forms, surrogates, and what lies above U+10FFFF.
    size_t length = 0;
    unsigned char low = 0x80, high = 0xBF;
    if (first >= 0xC2 && first <= 0xDF) length = 2;
    if (first >= 0xE0 && first <= 0xEF) length = 3;
    if (first >= 0xF0 && first <= 0xF4) length = 4;
    if (first == 0xE0) low = 0xA0;
    if (first == 0xED) high = 0x9F;
    if (first == 0xF0) low = 0x90;
    if (first == 0xF4) high = 0x8F;
    if (length == 0 || text.size() - i < length) return i;
    if (byte(1) < low || byte(1) > high) return i;
    for (size_t k = 2; k < length; ++k) {
      if (byte(k) < 0x80 || byte(k) > 0xBF) return i;
    }
    i += length;
  }
  return std::string_view::npos;
}

void check_utf8(std::string_view line, const std::string& name, int64_t line_number) {
  size_t bad = invalid_utf8(line);
  if (bad == std::string_view::npos) return;
  fail_user("{}:{}:byte {}: invalid UTF-8 (0x{:02x})", name, line_number, bad + 1,
            static_cast<unsigned char>(line[bad]));
}

}  // namespace lookback
