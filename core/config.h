#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/error.h"

namespace lookback {

/// One node of a configuration, read from YAML: nothing, a scalar (kept as text), a list or a map.
/// Every node knows its place (`configs/copy.yaml:14`), so that whoever refuses its value can say
/// where it stands. Map order is kept. Duplicate keys, anchors that fail, tabs and the like are
/// refused with their place.
class Config {
 public:
  enum class Kind { kNone, kScalar, kList, kMap };

  Config() = default;
  static Config from_file(const std::string& path);
  /// `name` stands in for the file in messages; relative paths then start at the working directory.
  static Config from_text(const std::string& text, const std::string& name);

  /// Applies a command-line override `model.attention.type=luong`; the value is YAML, so
  /// `train.optimizer={type: sgd, lr: 0.1}` works. Missing maps on the way are made. The place
  /// becomes `--set model.attention.type`.
  void set(const std::string& assignment);

  /// The same with a value that was read elsewhere and keeps its place.
  void set(const std::string& path, const Config& value);
  /// Takes over what `over` says: maps key by key, all else as a whole.
  void merge(const Config& over);
  /// Takes a key of a map away, if it is there.
  void remove(const std::string& key);

  Kind kind() const { return kind_; }
  const std::string& scalar() const { return scalar_; }
  /// The scalar stood in quotes, so it is text and no number.
  bool quoted() const { return quoted_; }
  const std::vector<Config>& items() const { return items_; }
  const std::vector<std::pair<std::string, Config>>& fields() const { return fields_; }
  const Config* find(const std::string& key) const;  ///< null when absent
  const std::string& place() const { return place_; }
  /// The folder that relative paths in this node start from.
  const std::string& folder() const { return folder_; }

  /// The node as YAML text, such that from_text(yaml()) reads back the same.
  std::string yaml() const;

  // Writing, for resolved configurations.
  static Config of_scalar(std::string text, bool quoted = false);
  static Config of_list(std::vector<Config> items);
  static Config of_map() {
    Config c;
    c.kind_ = Kind::kMap;
    return c;
  }
  Config& field(const std::string& key);  ///< found, or appended empty

 private:
  friend struct ConfigParser;
  Kind kind_ = Kind::kNone;
  std::string scalar_, place_, folder_;
  bool quoted_ = false;
  std::vector<Config> items_;
  std::vector<std::pair<std::string, Config>> fields_;
};

/// The numbers a field accepts.
struct Range {
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();
  bool above_low = false;   ///< low itself is refused
  bool below_high = false;  ///< high itself is refused
};
bool accepts(const Range& range, double value);
/// `at least 1`, `between 0 and 1`
std::string text_of(const Range& range);
inline Range at_least(double low) {
  return {.low = low};
}
inline Range above(double low) {
  return {.low = low, .above_low = true};
}
inline Range between(double low, double high) {
  return {.low = low, .high = high};
}
/// [low, high)
inline Range from_below(double low, double high) {
  return {.low = low, .high = high, .below_high = true};
}

/// One map of a configuration while it is read into an Options struct. Each read() looks a key up,
/// checks its type and range, leaves the option's own default where the key is absent, and records
/// the outcome in the resolved configuration, so that defaults have one home (the Options struct)
/// and the resolved file states them all. After everything is read, refuse_unknown() finds the keys
/// that nothing asked for.
///
///     void read(Section& s, GruOptions& o) {
///       s.read("hidden", o.hidden, at_least(1));
///       s.read("dropout", o.dropout, from_below(0, 1));
///     }
///
/// Every error is a UserError of one line: `configs/copy.yaml:14: model.encoder.hidden: ...`.
class Section {
 public:
  /// The root. Both must outlive the section; `resolved` becomes a map.
  Section(const Config& source, Config& resolved);

  /// Whether the user wrote this key (with a value that is not null).
  bool has(const std::string& key) const;
  void read(const std::string& key, int64_t& value, const Range& range = {});
  void read(const std::string& key, uint64_t& value);
  void read(const std::string& key, double& value, const Range& range = {});
  void read(const std::string& key, bool& value);
  void read(const std::string& key, std::string& value);
  void read(const std::string& key, std::vector<double>& value, const Range& range = {});
  void read(const std::string& key, std::vector<std::string>& value);
  /// One of a few words; an unknown one lists them and the nearest.
  void read_choice(const std::string& key, std::string& value,
                   const std::vector<std::string>& known);
  /// A whole number, or the word `auto`, which gives -1 (and is recorded as `auto`).
  void read_or_auto(const std::string& key, int64_t& value, const Range& range);
  /// A path; relative ones start at the config file's folder and are recorded absolute.
  void read_path(const std::string& key, std::string& value);

  /// The map under a key; absent or null is an empty map. Reading it records it.
  Section section(const std::string& key);
  /// Records a value that was worked out rather than read (`shards` resolved from the cores).
  void record(const std::string& key, const std::string& value);

  /// Throws UserError at the key's place: `file:line: path.key: text`. Without the key, at the
  /// map's.
  [[noreturn]] void refuse(const std::string& key, const std::string& text);
  const std::string& path() const { return path_; }

 private:
  Section(const Config* source, Config* resolved, std::vector<std::string> keys, std::string place);
  Config& resolved();
  const Config* written(const std::string& key) const;  // null when absent or null
  [[noreturn]] void refuse_at(const Config& value, const std::string& path,
                              const std::string& text) const;

  const Config* source_;  // null when the map is absent
  // Where outcomes are recorded: the root and the keys that lead from it. A pointer to the map
  // itself would not survive the maps that are recorded after it.
  Config* root_;
  std::vector<std::string> keys_;
  std::string path_;   // `model.encoder`, empty at the root
  std::string place_;  // of the map, or of the nearest map above that exists
};

/// Throws UserError for the first key of `source` that is not in `resolved`:
/// `configs/copy.yaml:14: model.encoder.hiden: unknown key; did you mean "hidden"? (known: cell,
/// ...)`.
/// A null from `--set` takes a key away. Where `--set` changed a map's `type`, keys of the file that the new type
/// does not know are left out with a warning.
void refuse_unknown(const Config& source, const Config& resolved);
/// While reading has failed half-way: throws UserError for a key of `source` that nothing asked for and that
/// is close to one that was asked for and is absent, for then that misspelling is the real mistake.
void refuse_misspelt(const Config& source, const Config& resolved);

/// The known name nearest to a misspelt one by edit distance; empty when none is near.
std::string nearest(const std::string& name, const std::vector<std::string>& known);

/// `unknown cell "grv"; did you mean "gru"? (known: gru, lstm, rnn)`
std::string unknown_name(const std::string& kind, const std::string& name,
                         const std::vector<std::string>& known);

}  // namespace lookback
