#include "train/tasks.h"

#include "train/tasks/copy.h"
#include "train/tasks/reverse.h"

namespace lookback {

Registry<TaskFactory>& tasks() {
  static Registry<TaskFactory> registry = [] {
    Registry<TaskFactory> built_in("task");
    built_in.add("copy", "the target is the source", make_copy);
    built_in.add("reverse", "the target is the source backwards", make_reverse);
    return built_in;
  }();
  return registry;
}

}  // namespace lookback
