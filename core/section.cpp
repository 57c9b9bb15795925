#include <algorithm>
#include <cmath>
#include <filesystem>

#include "core/config.h"
#include "core/numbers.h"

namespace lookback {

namespace {

using Kind = Config::Kind;

/// What a node is, for `..., but is 1.5`; always one short line.
std::string describe(const Config& config) {
  if (config.kind() == Kind::kMap) return "a map of keys";
  if (config.kind() == Kind::kList) return "a list";
  std::string text = config.yaml();
  text.pop_back();
  if (text.size() > 60) text = text.substr(0, 57) + "...";
  return config.quoted() ? "the text " + text : text;
}

/// The text without quotes where it cannot be taken for anything but text.
Config recorded(const std::string& text) {
  bool quoted = is_number(text) || text == "true" || text == "false";
  return Config::of_scalar(text, quoted);
}

bool bare(const Config& config) {
  return config.kind() == Kind::kScalar && !config.quoted();
}

std::string dotted(const std::string& path, const std::string& key) {
  if (path.empty() || key.empty()) return path + key;
  return path + "." + key;
}

// Each reader says what is wrong with a value, or nothing.

std::string read_whole(const Config& from, int64_t& value, const Range& range) {
  std::optional<int64_t> got = bare(from) ? parse_whole(from.scalar()) : std::nullopt;
  if (!got) {
    std::string text = "must be a whole number, but is " + describe(from);
    std::optional<double> real = bare(from) ? parse_number(from.scalar()) : std::nullopt;
    if (real && std::abs(*real) < 1e15 && *real == std::round(*real))
      text += format("; write {}", static_cast<int64_t>(*real));
    return text;
  }
  if (!accepts(range, static_cast<double>(*got)))
    return format("must be {}, but is {}", text_of(range), *got);
  value = *got;
  return "";
}

std::string read_number(const Config& from, double& value, const Range& range) {
  std::optional<double> got = bare(from) ? parse_number(from.scalar()) : std::nullopt;
  if (!got) {
    // `inf`, `.nan` and 1e999 too: no field has a use for them.
    return "must be a finite number, but is " + describe(from);
  }
  if (!accepts(range, *got)) return format("must be {}, but is {}", text_of(range), from.scalar());
  value = *got;
  return "";
}

std::string read_text(const Config& from, std::string& value) {
  if (from.kind() != Kind::kScalar) return "must be a text, but is " + describe(from);
  value = from.scalar();
  return "";
}

}  // namespace

bool accepts(const Range& range, double value) {
  bool low = range.above_low ? value > range.low : value >= range.low;
  bool high = range.below_high ? value < range.high : value <= range.high;
  return low && high;
}

std::string text_of(const Range& range) {
  // A count of a million reads better than 1e+06.
  auto number = [](double value) {
    bool whole = std::abs(value) < 1e15 && value == std::floor(value);
    return whole ? format("{:.0f}", value) : number_text(value);
  };
  std::string low = number(range.low), high = number(range.high);
  bool has_low = range.low > -std::numeric_limits<double>::infinity();
  bool has_high = range.high < std::numeric_limits<double>::infinity();
  if (has_low && has_high && !range.above_low && !range.below_high)
    return "between " + low + " and " + high;
  std::string text;
  if (has_low) text += (range.above_low ? "above " : "at least ") + low;
  if (has_low && has_high) text += " and ";
  if (has_high) text += (range.below_high ? "below " : "at most ") + high;
  return text;
}

Section::Section(const Config& source, Config& resolved)
    : source_(&source), root_(&resolved), place_(source.place()) {
  if (source.kind() == Kind::kNone) {
    source_ = nullptr;
  } else if (source.kind() != Kind::kMap) {
    fail_user("{}: the configuration must be a map of keys, but is {}", place_, describe(source));
  }
  if (resolved.kind() != Kind::kMap) resolved = Config::of_map();
}

Section::Section(const Config* source, Config* resolved, std::vector<std::string> keys,
                 std::string place)
    : source_(source), root_(resolved), keys_(std::move(keys)), place_(std::move(place)) {
  for (const std::string& key : keys_) path_ = dotted(path_, key);
}

Config& Section::resolved() {
  Config* at = root_;
  for (const std::string& key : keys_) {
    at = &at->field(key);
    if (at->kind() != Kind::kMap) *at = Config::of_map();
  }
  return *at;
}

const Config* Section::written(const std::string& key) const {
  const Config* found = source_ ? source_->find(key) : nullptr;
  return found && found->kind() != Kind::kNone ? found : nullptr;
}

bool Section::has(const std::string& key) const {
  return written(key) != nullptr;
}

void Section::refuse_at(const Config& value, const std::string& path,
                        const std::string& text) const {
  if (value.place() == "--set " + path) fail_user("{}: {}", value.place(), text);
  fail_user("{}: {}: {}", value.place(), path, text);
}

void Section::refuse(const std::string& key, const std::string& text) {
  if (!key.empty()) resolved().field(key);  // it was asked for, as refuse_misspelt() wants to know
  std::string path = dotted(path_, key);
  if (const Config* found = source_ ? source_->find(key) : nullptr) refuse_at(*found, path, text);
  // A configuration that a program put together has no place; the path alone has to do.
  std::string place = place_.empty() || path.empty() ? place_ : place_ + ": ";
  fail_user("{}{}: {}", place, path, text);
}

void Section::read(const std::string& key, int64_t& value, const Range& range) {
  if (const Config* from = written(key)) {
    std::string wrong = read_whole(*from, value, range);
    if (!wrong.empty()) refuse(key, wrong);
  }
  resolved().field(key) = Config::of_scalar(std::to_string(value));
}

void Section::read(const std::string& key, uint64_t& value) {
  if (const Config* from = written(key)) {
    std::optional<uint64_t> got = bare(*from) ? parse_unsigned(from->scalar()) : std::nullopt;
    if (!got) {
      refuse(key, "must be a whole number between 0 and 18446744073709551615, but is " +
                      describe(*from));
    }
    value = *got;
  }
  resolved().field(key) = Config::of_scalar(std::to_string(value));
}

void Section::read(const std::string& key, double& value, const Range& range) {
  if (const Config* from = written(key)) {
    std::string wrong = read_number(*from, value, range);
    if (!wrong.empty()) refuse(key, wrong);
  }
  resolved().field(key) = Config::of_scalar(number_text(value));
}

void Section::read(const std::string& key, bool& value) {
  if (const Config* from = written(key)) {
    if (!bare(*from) || (from->scalar() != "true" && from->scalar() != "false"))
      refuse(key, "must be true or false, but is " + describe(*from));
    value = from->scalar() == "true";
  }
  resolved().field(key) = Config::of_scalar(value ? "true" : "false");
}

void Section::read(const std::string& key, std::string& value) {
  if (const Config* from = written(key)) {
    std::string wrong = read_text(*from, value);
    if (!wrong.empty()) refuse(key, wrong);
  }
  resolved().field(key) = recorded(value);
}

void Section::read(const std::string& key, std::vector<double>& value, const Range& range) {
  if (const Config* from = written(key)) {
    if (from->kind() != Kind::kList) {
      refuse(key, "must be a list of numbers, like [0.9, 0.999], but is " + describe(*from));
    }
    value.clear();
    for (const Config& item : from->items()) {
      std::string wrong = read_number(item, value.emplace_back(), range);
      if (!wrong.empty())
        refuse_at(item, format("{}[{}]", dotted(path_, key), value.size() - 1), wrong);
    }
  }
  std::vector<Config> items;
  for (double number : value) items.push_back(Config::of_scalar(number_text(number)));
  resolved().field(key) = Config::of_list(std::move(items));
}

void Section::read(const std::string& key, std::vector<std::string>& value) {
  if (const Config* from = written(key)) {
    if (from->kind() != Kind::kList)
      refuse(key, "must be a list of texts, like [a, b], but is " + describe(*from));
    value.clear();
    for (const Config& item : from->items()) {
      std::string wrong = read_text(item, value.emplace_back());
      if (!wrong.empty())
        refuse_at(item, format("{}[{}]", dotted(path_, key), value.size() - 1), wrong);
    }
  }
  std::vector<Config> items;
  for (const std::string& text : value) items.push_back(recorded(text));
  resolved().field(key) = Config::of_list(std::move(items));
}

void Section::read_choice(const std::string& key, std::string& value,
                          const std::vector<std::string>& known) {
  auto is_known = [&] { return std::find(known.begin(), known.end(), value) != known.end(); };
  if (const Config* from = written(key)) {
    std::string wrong = read_text(*from, value);
    if (!wrong.empty()) refuse(key, wrong);
    if (!is_known()) refuse(key, unknown_name(key, value, known));
  } else if (!is_known()) {
    std::string list;
    for (const std::string& name : known) list += (list.empty() ? "" : ", ") + name;
    refuse(key, "is missing; must be one of " + list);
  }
  resolved().field(key) = recorded(value);
}

void Section::read_or_auto(const std::string& key, int64_t& value, const Range& range) {
  if (const Config* from = written(key)) {
    if (from->kind() == Kind::kScalar && from->scalar() == "auto") {
      value = -1;
    } else {
      std::string wrong = read_whole(*from, value, range);
      if (wrong.starts_with("must be a whole number"))
        wrong.insert(std::string_view("must be a whole number").size(), " or auto");
      if (!wrong.empty()) refuse(key, wrong);
    }
  }
  resolved().field(key) = Config::of_scalar(value == -1 ? "auto" : std::to_string(value));
}

void Section::read_path(const std::string& key, std::string& value) {
  std::string folder;
  if (const Config* from = written(key)) {
    std::string wrong = read_text(*from, value);
    if (!wrong.empty()) refuse(key, wrong);
    folder = from->folder();
  }
  // No path stays no path: nothing joined to a folder would name the folder.
  if (!value.empty()) {
    value = std::filesystem::absolute(std::filesystem::path(folder) / value)
                .lexically_normal()
                .string();
  }
  resolved().field(key) = recorded(value);
}

Section Section::section(const std::string& key) {
  const Config* from = written(key);
  if (from && from->kind() != Kind::kMap)
    refuse(key, "must be a map of keys, but is " + describe(*from));
  std::vector<std::string> keys = keys_;
  keys.push_back(key);
  const Config* found = source_ ? source_->find(key) : nullptr;
  Section below(from, root_, std::move(keys), found ? found->place() : place_);
  below.resolved();
  return below;
}

void Section::record(const std::string& key, const std::string& value) {
  resolved().field(key) = Config::of_scalar(value);
}

}  // namespace lookback
