#include <algorithm>

#include "core/error.h"
#include "train/dataset.h"

namespace lookback {
namespace {

/// The k-th held-out example of a length, the same whatever else is drawn.
Example held_out_example(const TaskDataOptions& data, Split split, int64_t length, int64_t k) {
  uint64_t use = purpose(split == Split::kValid ? "task.valid" : "task.test");
  Random random({data.held_out_seed, use, static_cast<uint64_t>(length), static_cast<uint64_t>(k)});
  return draw(*data.task, split, data.held_out_seed, length, random);
}

/// `data.held_out.examples` examples of a split, their lengths spread evenly over those that the
/// split has. The k-th sentence of a length is the same whatever the other lengths are. Where a
/// length has few different sources they repeat.
std::vector<Example> held_out_set(const TaskDataOptions& data, Split split) {
  std::vector<int64_t> lengths = lengths_with(*data.task, split, data.held_out_seed);
  std::vector<Example> examples;
  int64_t count = static_cast<int64_t>(lengths.size());
  int64_t before = -1, k = 0;
  for (int64_t i = 0; i < data.held_out_examples; ++i) {
    int64_t length = lengths[i * count / data.held_out_examples];
    k = length == before ? k + 1 : 0;
    before = length;
    examples.push_back(held_out_example(data, split, length, k));
  }
  return examples;
}

/// UserError where one of the examples is longer than the limits.
void refuse_any(const std::vector<Example>& examples, const Task& task,
                const PositionLimits& limits) {
  for (const Example& example : examples)
    if (std::optional<TooLong> problem = too_long(example, limits))
      fail_user("data.task.max_length: {}: {} of length {} has {}", task.max_length(),
                problem->source ? "a source" : "the target of a source", example.source.size(),
                problem->text);
}

class TaskDataset : public Dataset {
 public:
  explicit TaskDataset(const TaskDataOptions& data)
      : data_(data),
        lengths_(lengths_with(*data.task, Split::kTrain, data.held_out_seed)),
        valid_(held_out_set(data, Split::kValid)),
        test_(held_out_set(data, Split::kTest)) {}

  const Vocabulary& source_vocabulary() const override { return data_.task->source_vocabulary(); }
  const Vocabulary& target_vocabulary() const override { return data_.task->target_vocabulary(); }
  const std::vector<Example>& held_out(Split split) override {
    if (split == Split::kTrain) fail("[dataset] the training split is not held out");
    return split == Split::kValid ? valid_ : test_;
  }
  void refuse_longer(Split split, const PositionLimits& limits) override {
    if (!limits.any()) return;
    refuse_any(split == Split::kTrain ? training_lengths() : held_out(split), *data_.task, limits);
  }

 protected:
  /// Training examples in which every length occurs that is ever trained on.
  virtual std::vector<Example> training_lengths() const = 0;
  int64_t any_length(Random& random) const {
    return lengths_[random.below(static_cast<int64_t>(lengths_.size()))];
  }
  const std::vector<int64_t>& lengths() const { return lengths_; }
  Example training_example(int64_t length, Random& random) const {
    return draw(*data_.task, Split::kTrain, data_.held_out_seed, length, random);
  }
  std::string describe(const std::string& training) const {
    return format("{}; {}; {} valid and {} test examples", data_.task->description(), training,
                  valid_.size(), test_.size());
  }

  TaskDataOptions data_;

 private:
  std::vector<int64_t> lengths_;
  std::vector<Example> valid_, test_;
};

/// Training examples that are drawn for each step and never end.
class FreshTaskDataset final : public TaskDataset {
 public:
  FreshTaskDataset(const TaskDataOptions& data, uint64_t seed, const BatchOptions& batch)
      : TaskDataset(data), seed_(seed), batch_(batch) {}

  std::vector<Example> training_examples(int64_t step) override {
    if (step < 0) fail("[dataset] step {}; steps count from 0", step);
    uint64_t at = static_cast<uint64_t>(step);
    Random for_length({seed_, purpose("task.length"), at, 0});
    int64_t common_length = any_length(for_length);
    std::vector<Example> examples;
    BatchFill fill(batch_);
    for (uint64_t i = 0;; ++i) {
      Random random({seed_, purpose("task.example"), at, i});
      int64_t length = data_.same_length ? common_length : any_length(random);
      Example example = training_example(length, random);
      if (!fill.take(example)) return examples;
      examples.push_back(std::move(example));
    }
  }
  int64_t steps_in_epochs(int64_t) override {
    fail_user(
        "train.epochs: epochs need a finite training set; give train.steps, or data.train_examples "
        "above 0");
  }
  std::string description() const override { return describe("fresh training examples each step"); }

 private:
  /// One of each length: how long a target is should follow from the source's length.
  std::vector<Example> training_lengths() const override {
    std::vector<Example> examples;
    for (int64_t length : lengths()) {
      Random random({seed_, purpose("task.lengths"), static_cast<uint64_t>(length), 0});
      examples.push_back(training_example(length, random));
    }
    return examples;
  }

  uint64_t seed_;
  BatchOptions batch_;
};

/// A training set of `data.train_examples` that is drawn once and shuffled anew each epoch.
class FixedTaskDataset final : public TaskDataset {
 public:
  FixedTaskDataset(const TaskDataOptions& data, uint64_t seed, const BatchOptions& batch)
      : TaskDataset(data), train_(training_set()), batches_(train_, batch, grouping(data), seed) {}

  std::vector<Example> training_examples(int64_t step) override {
    std::vector<Example> examples;
    for (int64_t i : batches_.batch(step)) examples.push_back(train_[i]);
    return examples;
  }
  int64_t steps_in_epochs(int64_t epochs) override { return batches_.steps_in_epochs(epochs); }
  std::string description() const override {
    return describe(format("{} training examples", train_.size()));
  }

 private:
  std::vector<Example> training_lengths() const override { return train_; }
  static Grouping grouping(const TaskDataOptions& data) {
    return data.same_length ? Grouping::kSameLength : Grouping::kMixed;
  }
  /// Keyed by the seed of the held-out sets, so that runs with other seeds learn from the same set,
  /// as they would from a file.
  std::vector<Example> training_set() const {
    std::vector<Example> examples;
    for (int64_t i = 0; i < data_.train_examples; ++i) {
      Random random(
          {data_.held_out_seed, purpose("task.training set"), 0, static_cast<uint64_t>(i)});
      int64_t length = any_length(random);
      examples.push_back(training_example(length, random));
    }
    return examples;
  }

  std::vector<Example> train_;
  EpochBatches batches_;
};

}  // namespace

std::vector<Example> test_examples(const TaskDataOptions& data, const std::vector<int64_t>& lengths,
                                   int64_t each) {
  std::vector<int64_t> known = lengths_with(*data.task, Split::kTest, data.held_out_seed);
  std::vector<Example> examples;
  for (int64_t length : lengths) {
    if (!std::binary_search(known.begin(), known.end(), length)) continue;
    for (int64_t k = 0; k < each; ++k)
      examples.push_back(held_out_example(data, Split::kTest, length, k));
  }
  return examples;
}

std::unique_ptr<Dataset> make_task_dataset(const TaskDataOptions& options, uint64_t seed,
                                           const BatchOptions& batch) {
  if (options.train_examples > 0) return std::make_unique<FixedTaskDataset>(options, seed, batch);
  return std::make_unique<FreshTaskDataset>(options, seed, batch);
}

}  // namespace lookback
