#include "study/test_data.h"

#include <algorithm>

namespace lookback {
namespace {

/// The recipe with one more key set; nothing where the task does not take that value.
std::optional<TaskDataOptions> with(const Config& config, const std::string& setting) {
  Config wider = config;
  wider.set(setting);
  try {
    return std::get<TaskDataOptions>(read_recipe(wider).data);
  } catch (const UserError&) {
    return {};
  }
}

bool takes(const Recipe& recipe, const std::string& key) {
  const Config* data = recipe.resolved.find("data");
  const Config* task = data ? data->find("task") : nullptr;
  return task && task->find(key);
}

}  // namespace

std::optional<TaskDataOptions> test_data(const Config& config, const Recipe& recipe,
                                         const StudyTest& test, const std::string& place) {
  const auto* own = std::get_if<TaskDataOptions>(&recipe.data);
  if (!own) {
    if (!test.lengths.empty())
      fail_user("{}: test.lengths: is for made-up tasks; for text give test.bucket", place);
    if (test.gradient_length > 0)
      fail_user("{}: test.gradient_length: is for made-up tasks; the data are text", place);
    return {};
  }
  std::vector<int64_t> lengths = test.lengths;
  if (test.gradient_length > 0) lengths.push_back(test.gradient_length);
  if (lengths.empty()) return *own;
  auto [low, high] = std::minmax_element(lengths.begin(), lengths.end());
  Config wider = config;
  TaskDataOptions data = *own;
  // Shorter ones that the task does not have are left out; longer ones have to be.
  if (takes(recipe, "min_length") && *low < own->task->min_length())
    if (auto shorter = with(wider, format("data.task.min_length={}", *low))) {
      wider.set(format("data.task.min_length={}", *low));
      data = *shorter;
    }
  if (takes(recipe, "max_length") && *high > own->task->max_length())
    if (auto longer = with(wider, format("data.task.max_length={}", *high))) data = *longer;
  const Task &trained = *own->task, &tested = *data.task;
  if (!(trained.source_vocabulary() == tested.source_vocabulary() &&
        trained.target_vocabulary() == tested.target_vocabulary()))
    fail_user(
        "{}: test: the vocabulary of {} grows with its length, so a model cannot be tested beyond "
        "the {} tokens that it was trained on",
        place, trained.description(), trained.max_length());
  if (!test.lengths.empty() && test_examples(data, test.lengths, 1).empty())
    fail_user("{}: test.lengths: {} has no sources of any of these lengths", place,
              trained.description());
  if (test.gradient_length > 0 && test_examples(data, {test.gradient_length}, 1).empty())
    fail_user("{}: test.gradient_length: {} has no sources of length {}", place,
              trained.description(), test.gradient_length);
  return data;
}

}  // namespace lookback
