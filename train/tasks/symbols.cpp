#include "train/tasks/symbols.h"

#include <utility>

#include "core/error.h"

namespace lookback {

std::vector<std::string> symbol_names(int64_t count, const std::string& prefix) {
  std::vector<std::string> names;
  for (int64_t i = 0; i < count; ++i)
    names.push_back(count <= 26 ? std::string(1, static_cast<char>('a' + i))
                                : prefix + std::to_string(i));
  return names;
}

void read(Section& section, SymbolOptions& options) {
  section.read("symbols", options.symbols, between(2, 1e6));
  read_lengths(section, options.min_length, options.max_length, 1);
}

void read_lengths(Section& section, int64_t& min_length, int64_t& max_length, int64_t least) {
  section.read("min_length", min_length, at_least(static_cast<double>(least)));
  section.read("max_length", max_length, between(static_cast<double>(least), 1e5));
  if (max_length < min_length)
    section.refuse("max_length",
                   format("{} is below min_length, which is {}", max_length, min_length));
}

SymbolTask::SymbolTask(std::string name, const SymbolOptions& options)
    : name_(std::move(name)), options_(options), vocabulary_(symbol_names(options.symbols)) {}

Example SymbolTask::sample(int64_t length, Random& random) const {
  Example example;
  example.source.reserve(static_cast<size_t>(length));
  for (int64_t i = 0; i < length; ++i)
    example.source.push_back(kMarks + static_cast<Id>(random.below(options_.symbols)));
  example.target = target_of(example.source);
  return example;
}

std::string SymbolTask::description() const {
  return format("{}, {} symbols, lengths {} to {}", name_, options_.symbols, options_.min_length,
                options_.max_length);
}

}  // namespace lookback
