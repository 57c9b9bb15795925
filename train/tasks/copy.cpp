#include "train/tasks/copy.h"

#include "train/tasks/symbols.h"

namespace lookback {
namespace {

/// `a b c` -> `a b c`
class CopyTask final : public SymbolTask {
 public:
  explicit CopyTask(const SymbolOptions& options) : SymbolTask("copy", options) {}

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
