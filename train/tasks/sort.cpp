#include "train/tasks/sort.h"

#include <algorithm>

#include "train/tasks/symbols.h"

namespace lookback {
namespace {

/// `c a b a` -> `a a b c`
class SortTask final : public SymbolTask {
 public:
  explicit SortTask(const SymbolOptions& options) : SymbolTask("sort", options) {}

 protected:
  std::vector<Id> target_of(const std::vector<Id>& source) const override {
    std::vector<Id> target = source;
    std::sort(target.begin(), target.end());
    return target;
  }
};

}  // namespace

std::unique_ptr<Task> make_sort(Section& section) {
  SymbolOptions options;
  read(section, options);
  return std::make_unique<SortTask>(options);
}

}  // namespace lookback
