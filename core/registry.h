#pragma once

#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "core/config.h"
#include "core/error.h"

namespace lookback {

/// A map from a name in YAML to a factory. A program of one's own adds an entry before it builds a
/// model:
///
///     cells().add("my_cell", "what it is", make_my_cell);
///
/// A name given twice throws; an unknown one is refused with the known ones and the nearest.
template <class Factory>
class Registry {
 public:
  struct Entry {
    std::string description;
    Factory factory;
  };

  explicit Registry(std::string kind) : kind_(std::move(kind)) {}

  void add(const std::string& name, const std::string& description, Factory factory) {
    if (!entries_.emplace(name, Entry{description, std::move(factory)}).second)
      fail("[registry] {} \"{}\" is registered already", kind_, name);
  }

  /// The factory that `key` of a section names; `fallback` where the key is absent.
  const Factory& choose(Section& section, const std::string& key, std::string fallback) const {
    section.read_choice(key, fallback, names());
    return entries_.at(fallback).factory;
  }

  const Factory& get(const std::string& name) const {
    auto found = entries_.find(name);
    if (found == entries_.end()) throw UserError(unknown_name(kind_, name, names()));
    return found->second.factory;
  }

  std::vector<std::string> names() const {
    std::vector<std::string> out;
    for (const auto& [name, entry] : entries_) out.push_back(name);
    return out;
  }
  const std::map<std::string, Entry>& entries() const { return entries_; }

 private:
  std::string kind_;
  std::map<std::string, Entry> entries_;
};

}  // namespace lookback
