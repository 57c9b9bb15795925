#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/config.h"
#include "core/random.h"
#include "train/task.h"

namespace lookback {

struct SymbolOptions {
  int64_t symbols = 20;
  int64_t min_length = 1;
  int64_t max_length = 20;
};
void read(Section& section, SymbolOptions& options);

/// Reads `min_length` and `max_length`, which count source tokens, at least `least`.
void read_lengths(Section& section, int64_t& min_length, int64_t& max_length, int64_t least);

/// The letters a, b, ... when there are at most 26 symbols, PREFIX0, PREFIX1, ... otherwise.
std::vector<std::string> symbol_names(int64_t count, const std::string& prefix = "");

/// The common part of tasks over uniformly drawn symbols with one vocabulary for both sides: the
/// letters a, b, ... when there are at most 26 symbols, the numbers 0, 1, ... otherwise.
class SymbolTask : public Task {
 public:
  SymbolTask(std::string name, const SymbolOptions& options);

  const Vocabulary& source_vocabulary() const override { return vocabulary_; }
  const Vocabulary& target_vocabulary() const override { return vocabulary_; }
  int64_t min_length() const override { return options_.min_length; }
  int64_t max_length() const override { return options_.max_length; }
  Example sample(int64_t length, Random& random) const override;
  std::string description() const override;

 protected:
  virtual std::vector<Id> target_of(const std::vector<Id>& source) const = 0;

 private:
  std::string name_;
  SymbolOptions options_;
  Vocabulary vocabulary_;
};

}  // namespace lookback
