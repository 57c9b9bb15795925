#include "train/tasks.h"

#include "train/tasks/agreement.h"
#include "train/tasks/copy.h"
#include "train/tasks/copy_token.h"
#include "train/tasks/dates.h"
#include "train/tasks/recall.h"
#include "train/tasks/reverse.h"
#include "train/tasks/sort.h"
#include "train/tasks/toy_translation.h"

namespace lookback {

Registry<TaskFactory>& tasks() {
  static Registry<TaskFactory> registry = [] {
    Registry<TaskFactory> built_in("task");
    built_in.add("copy", "the target is the source", make_copy);
    built_in.add("reverse", "the target is the source backwards", make_reverse);
    built_in.add("sort", "the target is the source's symbols in order", make_sort);
    built_in.add("copy_token", "letters, then a number k; the target is the k-th letter",
                 make_copy_token);
    built_in.add("recall", "keys with their values, then a key; the target is its value",
                 make_recall);
    built_in.add("agreement", "the third word decides the verb; distractors follow it",
                 make_agreement);
    built_in.add("dates", "English dates to ISO 8601, digit by digit", make_dates);
    built_in.add("toy_translation",
                 "a small English to an invented language: other word order, agreement",
                 make_toy_translation);
    return built_in;
  }();
  return registry;
}

}  // namespace lookback
