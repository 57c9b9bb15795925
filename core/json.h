#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace lookback {

/// JSON whose objects keep the order in which their keys were written.
using Json = nlohmann::ordered_json;

/// Reads one JSON value. UserError where the text is no JSON or an object holds a key twice (most
/// readers keep the last one without a word); `name` stands for the file: `a.json: bad JSON: ...`.
Json parse_json(std::string_view text, const std::string& name);

/// JSON text in one line (`indent` -1) or with that many blanks a level. Non-finite numbers become
/// null, for JSON has none. Error where a text in it is no valid UTF-8.
std::string json_text(const Json& json, int indent = -1);

}  // namespace lookback
