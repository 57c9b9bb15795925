#include "study/svg_text.h"

#include "core/error.h"
#include "study/text_width.h"

namespace lookback {

std::string markup_escaped(const std::string& text) {
  std::string out, one_line = text;
  for (char& c : one_line)
    if (static_cast<unsigned char>(c) < 0x20) c = ' ';
  for (char c : printable(one_line)) {
    if (c == '&') {
      out += "&amp;";
    } else if (c == '<') {
      out += "&lt;";
    } else if (c == '>') {
      out += "&gt;";
    } else if (c == '"') {
      out += "&quot;";
    } else {
      out += c;
    }
  }
  return out;
}

double svg_width(const std::string& text, double size) {
  return 0.57 * size * static_cast<double>(text_width(text));
}

std::string svg_text(double x, double y, const std::string& words, double size,
                     const std::string& colour, const std::string& more) {
  return format("<text x=\"{:.1f}\" y=\"{:.1f}\" font-size=\"{}\" fill=\"{}\"{}>{}</text>\n", x, y,
                size, colour, more, markup_escaped(words));
}

std::string svg_card(double width, double height, const std::string& name) {
  return format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:.0f}\" height=\"{1:.0f}\" "
      "viewBox=\"0 0 {0:.0f} {1:.0f}\" role=\"img\" "
      "font-family=\"system-ui, -apple-system, 'Segoe UI', 'DejaVu Sans', sans-serif\">\n"
      "<title>{2}</title>\n"
      "<rect x=\"0.5\" y=\"0.5\" width=\"{3:.0f}\" height=\"{4:.0f}\" rx=\"10\" "
      "fill=\"#ffffff\" stroke=\"#dddddd\"/>\n",
      width, height, markup_escaped(name), width - 1, height - 1);
}

}  // namespace lookback
