#pragma once

#include <string>

namespace lookback {

/// Safe inside an element and inside a quoted attribute of SVG or HTML: printable(), with blanks for
/// line ends and the like.
std::string markup_escaped(const std::string& text);

/// About how many pixels wide a text is at a font size: fonts are the viewer's.
double svg_width(const std::string& text, double size);

/// One <text> element; `more` are further attributes, each after a blank.
std::string svg_text(double x, double y, const std::string& words, double size,
                     const std::string& colour, const std::string& more = "");

/// The start of a document: the <svg> element with a name for screen readers, and a white card.
std::string svg_card(double width, double height, const std::string& name);

}  // namespace lookback
