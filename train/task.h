#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/config.h"
#include "core/random.h"
#include "train/split.h"
#include "train/vocabulary.h"

namespace lookback {

/// A made-up problem with as many examples as one likes. sample() draws one whose source has
/// `length` tokens; it depends on its arguments alone.
class Task {
 public:
  virtual ~Task() = default;
  virtual const Vocabulary& source_vocabulary() const = 0;
  virtual const Vocabulary& target_vocabulary() const = 0;
  virtual int64_t min_length() const = 0;
  virtual int64_t max_length() const = 0;
  /// Whether sources may have this length of min_length() to max_length(). A task whose sources are
  /// made of pairs, say, has no odd ones; sample() is asked for possible lengths only.
  virtual bool has_length(int64_t) const { return true; }
  virtual Example sample(int64_t length, Random& random) const = 0;
  virtual std::string description() const = 0;  ///< `copy, 20 symbols, lengths 1 to 20`

  /// For each target token the source position that it is a copy or a translation of, -1 where there
  /// is none: what a decoder that looks back should look at. Another word there changes the target
  /// token; another word at any other place does not, save where a word says which place it is (the
  /// number of `copy_token`, the keys of `recall`). Nothing for a task that has no such position.
  virtual std::optional<std::vector<int64_t>> causes(const Example&) const { return {}; }
};

/// Reads a task's options from its section `data.task`.
using TaskFactory = std::function<std::unique_ptr<Task>(Section&)>;

/// The lengths of min_length() to max_length() that sources may have, ascending.
std::vector<int64_t> possible_lengths(const Task& task);

/// Draws until the example's source belongs to the split. Error when the length has no such source,
/// which lengths_with() tells beforehand.
Example draw(const Task& task, Split split, uint64_t held_out_seed, int64_t length, Random& random);

/// The task's lengths of which the split has sources. A space of a few sources (length 1 with few
/// symbols) may fall into the other splits as a whole. The search is the same each time and
/// bounded: 1,024 draws a length. UserError when no length is left.
std::vector<int64_t> lengths_with(const Task& task, Split split, uint64_t held_out_seed);

}  // namespace lookback
