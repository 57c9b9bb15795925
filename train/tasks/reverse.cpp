#include "train/tasks/reverse.h"

#include <numeric>

#include "train/tasks/symbols.h"

namespace lookback {
namespace {

/// `a b c` -> `c b a`
class ReverseTask final : public SymbolTask {
 public:
  explicit ReverseTask(const SymbolOptions& options) : SymbolTask("reverse", options) {}
  std::optional<std::vector<int64_t>> causes(const Example& example) const override {
    std::vector<int64_t> positions(example.source.size());
    std::iota(positions.rbegin(), positions.rend(), 0);
    return positions;
  }

 protected:
  std::vector<Id> target_of(const std::vector<Id>& source) const override {
    return {source.rbegin(), source.rend()};
  }
};

}  // namespace

std::unique_ptr<Task> make_reverse(Section& section) {
  SymbolOptions options;
  read(section, options);
  return std::make_unique<ReverseTask>(options);
}

}  // namespace lookback
