#pragma once

#include <regex>
#include <string>
#include <vector>

namespace lookback {

/// What stops a text from being well-formed XML of the kind that svg() writes; empty if nothing.
inline std::string xml_error(const std::string& text) {
  static const std::regex tag(
      R"(^<(/?)([a-z]+)((?: [a-zA-Z0-9-]+="(?:[^"<&]|&(?:amp|lt|gt|quot);)*")*)(/?)>)");
  std::vector<std::string> open;
  bool had_root = false;
  for (size_t i = 0; i < text.size();) {
    if (text[i] == '<') {
      std::smatch match;
      std::string rest = text.substr(i);
      if (!std::regex_search(rest, match, tag)) return "no tag: " + rest.substr(0, 60);
      if (open.empty() && had_root) return "a second root: " + rest.substr(0, 60);
      had_root = true;
      if (match[1].length() > 0) {
        if (open.empty() || open.back() != match[2])
          return "closes what is not open: " + match.str();
        open.pop_back();
      } else if (match[4].length() == 0) {
        open.push_back(match[2]);
      }
      i += static_cast<size_t>(match.length());
    } else {
      static const std::regex entity("^&(amp|lt|gt|quot);");
      if (text[i] == '&' && !std::regex_search(text.substr(i, 8), entity)) return "a bare &";
      if (static_cast<unsigned char>(text[i]) < 0x20 && text[i] != '\n')
        return "a control character";
      ++i;
    }
  }
  if (!open.empty()) return "left open: " + open.back();
  return had_root ? "" : "no root";
}

inline size_t count(const std::string& text, const std::string& what) {
  size_t n = 0;
  for (size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++n;
  return n;
}

}  // namespace lookback
