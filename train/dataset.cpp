#include "train/dataset.h"

#include "core/error.h"
#include "train/tasks.h"

namespace lookback {
namespace {

TaskDataOptions read_task_data(Section& data) {
  TaskDataOptions options;
  Section task = data.section("task");
  if (!task.has("type")) {
    std::string known;
    for (const std::string& name : tasks().names()) known += (known.empty() ? "" : ", ") + name;
    task.refuse("type", format("missing; name a task (known: {})", known));
  }
  options.task = tasks().choose(task, "type", "")(task);
  data.read("same_length", options.same_length);
  data.read("train_examples", options.train_examples, between(0, 1e8));
  Section held_out = data.section("held_out");
  held_out.read("seed", options.held_out_seed);
  held_out.read("examples", options.held_out_examples, between(1, 1e6));
  return options;
}

}  // namespace

DataOptions read_data(Section& data) {
  bool task = data.has("task"), corpus = data.has("corpus");
  if (task && corpus) data.refuse("corpus", "stands beside data.task; give one of the two");
  if (task) return read_task_data(data);
  if (!corpus)
    data.refuse("task", "missing; give data.task: {type: ...} or data.corpus: {train: ...}");
  CorpusOptions options;
  Section section = data.section("corpus");
  read(section, options);
  return options;
}

Split measured_split(const DataOptions& options) {
  const auto* corpus = std::get_if<CorpusOptions>(&options);
  return corpus && !corpus->test.given() ? Split::kValid : Split::kTest;
}

bool one_vocabulary(const DataOptions& options) {
  if (auto* corpus = std::get_if<CorpusOptions>(&options)) return corpus->joint_vocabulary;
  const Task& task = *std::get<TaskDataOptions>(options).task;
  return task.source_vocabulary() == task.target_vocabulary();
}

std::unique_ptr<Dataset> make_dataset(const DataOptions& options, uint64_t seed,
                                      const BatchOptions& batch) {
  if (auto* task = std::get_if<TaskDataOptions>(&options))
    return make_task_dataset(*task, seed, batch);
  return make_corpus_dataset(std::get<CorpusOptions>(options), seed, batch);
}

std::unique_ptr<Dataset> make_dataset(const DataOptions& options, uint64_t seed,
                                      const BatchOptions& batch, const Vocabulary& source,
                                      const Vocabulary& target) {
  auto* data = std::get_if<TaskDataOptions>(&options);
  if (!data)
    return make_corpus_dataset(std::get<CorpusOptions>(options), seed, batch, source, target);
  const Task& task = *data->task;
  auto check = [&](const char* side, const Vocabulary& own, const Vocabulary& model) {
    if (own == model) return;
    fail_user(
        "data.task: {}: its {} vocabulary has {} tokens and differs from the model's, which has "
        "{}; the task must have the symbols that the model was trained on",
        task.description(), side, own.size(), model.size());
  };
  check("source", task.source_vocabulary(), source);
  check("target", task.target_vocabulary(), target);
  return make_task_dataset(*data, seed, batch);
}

}  // namespace lookback
