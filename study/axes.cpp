#include "study/axes.h"

#include <algorithm>
#include <filesystem>
#include <set>

namespace lookback {
namespace {

std::string absolute(const Config& path) {
  const std::string& text = path.scalar();
  return text.starts_with('/') || path.folder().empty() ? text : path.folder() + "/" + text;
}

/// Keys that a study gives each model itself.
void check_key(const Config& at, const std::string& path, const std::string& key) {
  if (key == "seed") refuse_at(at, path, "seed: belongs under the study's own `seeds`");
  if (key == "name" || key == "train.threads")
    refuse_at(at, path, key + ": is the study's own to give; every model runs on one thread");
}

}  // namespace

void refuse_at(const Config& at, const std::string& path, const std::string& text) {
  fail_user("{}: {}: {}", at.place(), path, text);
}

std::string read_base(const Config& value, const std::string& path) {
  if (value.kind() != Config::Kind::kScalar) refuse_at(value, path, "must be a path");
  std::string file = absolute(value);
  std::error_code error;
  if (!std::filesystem::exists(file, error))
    refuse_at(value, path, format("{}: no such file", file));
  return file;
}

Settings read_settings(const Config& map, const std::string& path) {
  Settings out;
  if (map.kind() == Config::Kind::kNone) return out;
  if (map.kind() != Config::Kind::kMap)
    refuse_at(map, path, "must be a map of keys to values, like {model.encoder.hidden: 32}");
  for (const auto& [key, value] : map.fields()) {
    if (key == "base") {
      out.base = read_base(value, path + ".base");
    } else if (key.starts_with("test.")) {
      out.test.emplace_back(key.substr(5), value);
    } else {
      check_key(value, path, key);
      out.recipe.emplace_back(key, value);
    }
  }
  return out;
}

namespace {

GridAxis read_axis(const std::string& name, const Config& value) {
  std::string path = "vary." + name;
  if (name.empty()) refuse_at(value, "vary", "an axis needs a name");
  // The columns of results.csv beside the axes.
  for (const char* column :
       {"seed", "seeds", "parameters", "seconds", "examples", "tokens", "nll", "token_accuracy",
        "sequence_accuracy", "moment", "position", "distance", "gradient", "steps", "bleu",
        "half_right_length", "source_from", "source_to", "source_length"})
    if (name == column)
      refuse_at(value, path,
                format("is a column of the results{}; call the axis something else",
                       name == "seed" ? ", and seeds belong under `seeds`" : ""));
  check_key(value, path, name);
  GridAxis axis{name, {}};
  if (value.kind() == Config::Kind::kList) {
    for (const Config& item : value.items()) {
      if (item.kind() != Config::Kind::kScalar)
        refuse_at(item, path, "a list holds plain values, which the key of that name takes");
      Settings settings;
      if (name.starts_with("test."))
        settings.test.emplace_back(name.substr(5), item);
      else
        settings.recipe.emplace_back(name, item);
      axis.choices.push_back({item.scalar(), settings});
    }
  } else if (value.kind() == Config::Kind::kMap) {
    for (const auto& [label, settings] : value.fields())
      axis.choices.push_back({label, read_settings(settings, path + "." + label)});
  } else {
    refuse_at(
        value, path,
        "must be a map of choices, like {small: {model.encoder.hidden: 32}}, or, where its name "
        "is a key, a list of values");
  }
  if (axis.choices.empty()) refuse_at(value, path, "has no choices, so the grid is empty");
  std::set<std::string> seen;
  for (const AxisChoice& choice : axis.choices)
    if (!seen.insert(choice.label).second)
      refuse_at(value, path, format("\"{}\" stands there twice", choice.label));
  return axis;
}

}  // namespace

std::vector<GridAxis> read_axes(const Config& study, Config& resolved) {
  const Config* vary = study.find("vary");
  if (!vary || vary->kind() == Config::Kind::kNone)
    refuse_at(study, "vary", "is missing; name what varies, like {model: {A: {...}, B: {...}}}");
  if (vary->kind() != Config::Kind::kMap) refuse_at(*vary, "vary", "must be a map of axes");
  if (vary->fields().empty()) refuse_at(*vary, "vary", "is empty, so the grid is empty");
  resolved.field("vary") = *vary;
  std::vector<GridAxis> axes;
  for (const auto& [name, value] : vary->fields()) axes.push_back(read_axis(name, value));
  return axes;
}

bool Skip::matches(const std::vector<std::string>& choices) const {
  for (size_t i = 0; i < choices.size(); ++i)
    if (!labels[i].empty() && std::count(labels[i].begin(), labels[i].end(), choices[i]) == 0)
      return false;
  return true;
}

std::vector<Skip> read_skips(const Config& study, const std::vector<GridAxis>& axes,
                             Config& resolved) {
  std::vector<Skip> skips;
  const Config* list = study.find("skip");
  if (!list || list->kind() == Config::Kind::kNone) return skips;
  if (list->kind() != Config::Kind::kList)
    refuse_at(*list, "skip", "must be a list of maps from an axis to labels of it");
  resolved.field("skip") = *list;
  std::vector<std::string> names;
  for (const GridAxis& axis : axes) names.push_back(axis.name);
  for (const Config& item : list->items()) {
    if (item.kind() != Config::Kind::kMap || item.fields().empty())
      refuse_at(item, "skip", "must be a list of maps from an axis to labels of it");
    Skip skip{.labels = std::vector<std::vector<std::string>>(axes.size())};
    for (const auto& [name, value] : item.fields()) {
      auto at = std::find(names.begin(), names.end(), name);
      if (at == names.end()) refuse_at(value, "skip", unknown_name("axis", name, names));
      const GridAxis& axis = axes[static_cast<size_t>(at - names.begin())];
      std::vector<std::string> known;
      for (const AxisChoice& choice : axis.choices) known.push_back(choice.label);
      std::vector<Config> given =
          value.kind() == Config::Kind::kList ? value.items() : std::vector<Config>{value};
      for (const Config& label : given) {
        if (label.kind() != Config::Kind::kScalar)
          refuse_at(label, "skip", format("{}: must be a label or a list of labels", name));
        if (std::count(known.begin(), known.end(), label.scalar()) == 0)
          refuse_at(label, "skip", unknown_name("choice of " + name, label.scalar(), known));
        skip.labels[static_cast<size_t>(at - names.begin())].push_back(label.scalar());
      }
    }
    skips.push_back(skip);
  }
  return skips;
}

}  // namespace lookback
