#pragma once

#include <string>
#include <utility>
#include <vector>

#include "core/config.h"

namespace lookback {

// The grid of a study as its YAML has it: `vary`, `skip` and `set`.

/// Keys with their values, as they stand under `set` or under a choice.
struct Settings {
  std::string base;  ///< another configuration to start from; empty: the study's
  std::vector<std::pair<std::string, Config>> recipe, test;
};

struct AxisChoice {
  std::string label;
  Settings settings;
};
struct GridAxis {
  std::string name;
  std::vector<AxisChoice> choices;
};

/// Combinations to leave out: a list of maps from axis to a label, or a list of labels.
struct Skip {
  std::vector<std::vector<std::string>> labels;  ///< of each axis; none: any
  bool matches(const std::vector<std::string>& choices) const;
};

/// UserError at a value's place: `study.yaml:3: vary.model: text`.
[[noreturn]] void refuse_at(const Config& at, const std::string& path, const std::string& text);

/// A configuration that others start from, as an absolute path. UserError where there is none.
std::string read_base(const Config& value, const std::string& path);
Settings read_settings(const Config& map, const std::string& path);
/// `vary`, recorded in `resolved`. UserError where it leaves the grid empty.
std::vector<GridAxis> read_axes(const Config& study, Config& resolved);
/// `skip`, likewise.
std::vector<Skip> read_skips(const Config& study, const std::vector<GridAxis>& axes,
                             Config& resolved);

}  // namespace lookback
