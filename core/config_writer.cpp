#include <string_view>

#include "core/config.h"

namespace lookback {

// Config::yaml(): small maps and lists in one line (`{type: adam, lr: 0.001}`), larger ones a key a
// line.

namespace {

constexpr size_t kColumns = 100;

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/// Whether a text written without quotes reads back as the same text in every place, braces
/// included. Only marks that mean nothing to YAML pass, stricter than its rules, so that no
/// reader's corner cases matter.
bool plain(std::string_view text) {
  if (text.empty() || text == "null" || text == "Null" || text == "NULL") return false;
  for (char c : text) {
    // Of what is beyond ASCII, the blocks with line separators and the like (C2 85, E2 80 xx, EF BB
    // BF).
    bool beyond = (c & 0x80) != 0 && c != '\xC2' && c != '\xE2' && c != '\xEF';
    bool mark = std::string_view("_-+./ ").find(c) != std::string_view::npos;
    if (!is_letter(c) && !is_digit(c) && !beyond && !mark) return false;
  }
  if (text.front() == ' ' || text.back() == ' ' || text.starts_with("...")) return false;
  // A dash begins a list, unless a number follows.
  return text.front() != '-' || (text.size() > 1 && (text[1] == '.' || is_digit(text[1])));
}

std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (size_t i = 0; i < text.size(); ++i) {
    auto byte = static_cast<unsigned char>(text[i]);
    std::string_view rest = text.substr(i);
    if (byte == '"' || byte == '\\') {
      out += '\\';
      out += text[i];
    } else if (byte == '\n') {
      out += "\\n";
    } else if (byte == '\t') {
      out += "\\t";
    } else if (byte == '\r') {
      out += "\\r";
    } else if (byte < 0x20 || byte == 0x7F) {
      out += format("\\x{:02x}", byte);
    } else if (rest.starts_with("\xC2") && rest.size() > 1 &&
               static_cast<unsigned char>(rest[1]) < 0xA0) {
      out += format("\\x{:02x}", static_cast<unsigned char>(rest[1]));  // U+0080 to U+009F
      i += 1;
    } else if (rest.starts_with("\xE2\x80\xA8") || rest.starts_with("\xE2\x80\xA9")) {
      out += rest[2] == '\xA8' ? "\\u2028" : "\\u2029";
      i += 2;
    } else if (rest.starts_with("\xEF\xBB\xBF")) {
      out += "\\ufeff";
      i += 2;
    } else {
      out += text[i];
    }
  }
  return out + '"';
}

std::string word(const std::string& text, bool in_quotes) {
  return in_quotes || !plain(text) ? quoted(text) : text;
}

/// The node in one line.
std::string one_line(const Config& config) {
  std::string out;
  switch (config.kind()) {
    case Config::Kind::kNone:
      return "~";
    case Config::Kind::kScalar:
      return word(config.scalar(), config.quoted());
    case Config::Kind::kList:
      for (const Config& item : config.items()) out += (out.empty() ? "" : ", ") + one_line(item);
      return "[" + out + "]";
    case Config::Kind::kMap:
      for (const auto& [key, value] : config.fields())
        out += (out.empty() ? "" : ", ") + word(key, false) + ": " + one_line(value);
      return "{" + out + "}";
  }
  return out;
}

int height(const Config& config) {
  int below = 0;
  for (const Config& item : config.items()) below = std::max(below, height(item));
  for (const auto& [key, value] : config.fields()) below = std::max(below, height(value));
  bool nested = config.kind() == Config::Kind::kMap || config.kind() == Config::Kind::kList;
  return below + (nested ? 1 : 0);
}

void write(const Config& config, size_t indent, std::string& out);

/// What follows `key:` or `-`: the node in the same line, or below it and further in.
void write_value(const Config& value, size_t indent, std::string& out) {
  size_t column = out.size() - (out.rfind('\n') + 1);
  std::string line = one_line(value);
  bool splits = !value.items().empty() || !value.fields().empty();
  if (!splits || (height(value) <= 2 && column + 1 + line.size() <= kColumns)) {
    out += " " + line + "\n";
  } else {
    out += "\n";
    write(value, indent + 2, out);
  }
}

void write(const Config& config, size_t indent, std::string& out) {
  for (const Config& item : config.items()) {
    out += std::string(indent, ' ') + "-";
    write_value(item, indent, out);
  }
  for (const auto& [key, value] : config.fields()) {
    out += std::string(indent, ' ') + word(key, false) + ":";
    write_value(value, indent, out);
  }
}

}  // namespace

std::string Config::yaml() const {
  if (items_.empty() && fields_.empty()) return one_line(*this) + "\n";
  std::string out;
  write(*this, 0, out);
  return out;
}

}  // namespace lookback
