#include "study/page.h"

#include "core/error.h"
#include "study/page/files.h"
#include "study/page_json.h"
#include "study/svg_text.h"

namespace lookback {

std::string html(const Page& page) {
  PageFiles files = page_files();
  std::string_view rest = files.html;
  std::string out;
  // In one pass over the frame, so that nothing that was put in is taken for a place.
  for (size_t at; (at = rest.find("{{")) != std::string_view::npos;) {
    size_t end = rest.find("}}", at);
    std::string_view place = rest.substr(at + 2, end - at - 2);
    out += rest.substr(0, at);
    if (place == "title") {
      out += markup_escaped(page.title);
    } else if (place == "style") {
      out += files.css;
    } else if (place == "chart") {
      out += files.chart;
    } else if (place == "script") {
      out += files.script;
    } else if (place == "data") {
      out += script_json(page_json(page));
    } else {
      fail("[page] page.html has a place {} that nothing fills", place);
    }
    rest.remove_prefix(end + 2);
  }
  out += rest;
  return out;
}

}  // namespace lookback
