#include "train/tasks/copy.h"

#include <numeric>

#include "train/tasks/symbols.h"

namespace lookback {
namespace {

/// `a b c` -> `a b c`
class CopyTask final : public SymbolTask {
 public:
  explicit CopyTask(const SymbolOptions& options) : SymbolTask("copy", options) {}
  std::optional<std::vector<int64_t>> causes(const Example& example) const override {
    std::vector<int64_t> positions(example.source.size());
    std::iota(positions.begin(), positions.end(), 0);
    return positions;
  }

 protected:
  std::vector<Id> target_of(const std::vector<Id>& source) const override { return source; }
};

}  // namespace

std::unique_ptr<Task> make_copy(Section& section) {
  SymbolOptions options;
  read(section, options);
  return std::make_unique<CopyTask>(options);
}

}  // namespace lookback
