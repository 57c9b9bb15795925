#pragma once

#include <cstdint>
#include <functional>
#include <memory>
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
  virtual Example sample(int64_t length, Random& random) const = 0;
  virtual std::string description() const = 0;  ///< `copy, 20 symbols, lengths 1 to 20`
};

/// Reads a task's options from its section `data.task`.
using TaskFactory = std::function<std::unique_ptr<Task>(Section&)>;

/// Draws until the example's source belongs to the split. Error when the length has no such source,
/// which lengths_with() tells beforehand.
Example draw(const Task& task, Split split, uint64_t held_out_seed, int64_t length, Random& random);

/// The task's lengths of which the split has sources. A space of a few sources (length 1 with few
/// symbols) may fall into the other splits as a whole. The search is the same each time and
/// bounded: 1,024 draws a length. UserError when no length is left.
std::vector<int64_t> lengths_with(const Task& task, Split split, uint64_t held_out_seed);

}  // namespace lookback
