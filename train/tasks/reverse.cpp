#include "train/tasks/reverse.h"

#include "train/tasks/symbols.h"

namespace lookback {
namespace {

/// `a b c` -> `c b a`
class ReverseTask final : public SymbolTask {
 public:
  explicit ReverseTask(const SymbolOptions& options) : SymbolTask("reverse", options) {}

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
