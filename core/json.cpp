#include "core/json.h"

#include <set>
#include <vector>

#include "core/error.h"

namespace lookback {

namespace {

/// `[json.exception.parse_error.101] parse error at line 1, column 5: ...` without its prefix.
std::string reason(const Json::exception& error) {
  std::string text = error.what();
  size_t end = text.find("] ");
  return end == std::string::npos ? text : text.substr(end + 2);
}

}  // namespace

Json parse_json(std::string_view text, const std::string& name) {
  std::vector<std::set<std::string>> open;  // keys of the objects around the present place
  auto watch = [&](int, Json::parse_event_t event, Json& parsed) {
    if (event == Json::parse_event_t::object_start) open.emplace_back();
    if (event == Json::parse_event_t::object_end) open.pop_back();
    if (event == Json::parse_event_t::key) {
      const std::string& key = parsed.get_ref<const std::string&>();
      if (!open.back().insert(key).second)
        fail_user("{}: bad JSON: duplicate key {}", name, json_text(parsed));
    }
    return true;
  };
  try {
    return Json::parse(text, watch);
  } catch (const Json::exception& error) {
    fail_user("{}: bad JSON: {}", name, reason(error));
  }
}

std::string json_text(const Json& json, int indent) {
  try {
    return json.dump(indent);
  } catch (const Json::exception& error) {
    fail("[json] {}", reason(error));
  }
}

}  // namespace lookback
