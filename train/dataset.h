#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "core/config.h"
#include "train/batching.h"
#include "train/corpus.h"
#include "train/positions.h"
#include "train/split.h"
#include "train/task.h"

namespace lookback {

/// What to learn from and what to be measured on, the same for made-up tasks and for text. Used
/// from one thread at a time.
class Dataset {
 public:
  virtual ~Dataset() = default;
  virtual const Vocabulary& source_vocabulary() const = 0;
  virtual const Vocabulary& target_vocabulary() const = 0;
  /// The examples of one training step, counted from 0: a function of (data, seed, batch options,
  /// step) alone, so that a resumed run sees what the unbroken one would have seen.
  virtual std::vector<Example> training_examples(int64_t step) = 0;
  /// UserError where the training set is endless.
  virtual int64_t steps_in_epochs(int64_t epochs) = 0;
  /// The fixed examples of kValid or kTest. UserError when the data has none.
  virtual const std::vector<Example>& held_out(Split split) = 0;
  /// UserError where a sentence of the split is longer than a model reads: with file and line for
  /// text, with `data.task.max_length` for a task. A split that the data has not is no mistake.
  virtual void refuse_longer(Split split, const PositionLimits& limits) = 0;
  virtual std::string description() const = 0;  ///< one line for the log
};

struct TaskDataOptions {
  std::shared_ptr<const Task> task;
  bool same_length = true;     ///< a training batch has one length; false: each sentence its own
  int64_t train_examples = 0;  ///< 0: fresh samples for ever; else the size of a fixed training set
  uint64_t held_out_seed = 1;  ///< of the split and of all fixed sets, whatever the run's seed
  int64_t held_out_examples = 1000;  ///< of each held-out split, spread evenly over the lengths
};

/// The `data` section: a task or a corpus.
using DataOptions = std::variant<TaskDataOptions, CorpusOptions>;

/// Reads the section; opens no file.
DataOptions read_data(Section& data);

/// What a trained model is measured on: the test split, or validation where a corpus has no test set.
Split measured_split(const DataOptions& options);

/// Whether both sides have one vocabulary: a corpus with `joint_vocabulary`, or a task whose
/// vocabularies are equal.
bool one_vocabulary(const DataOptions& options);

/// For a new run: reads every file that the options name and builds the vocabularies from the
/// training text.
std::unique_ptr<Dataset> make_dataset(const DataOptions& options, uint64_t seed,
                                      const BatchOptions& batch);

/// Examples of the test split of these source lengths, as many of each, those that held_out(kTest)
/// has of a length first; lengths of which the task has no sources are left out.
std::vector<Example> test_examples(const TaskDataOptions& options,
                                   const std::vector<int64_t>& lengths, int64_t each);

/// With the vocabularies of a saved model. A corpus reads each pair of files when it is first
/// needed, so that a model can be evaluated where the training text is not at hand. UserError when
/// a task's own vocabularies differ.
std::unique_ptr<Dataset> make_dataset(const DataOptions& options, uint64_t seed,
                                      const BatchOptions& batch, const Vocabulary& source,
                                      const Vocabulary& target);

// One kind each; make_dataset() chooses.
std::unique_ptr<Dataset> make_task_dataset(const TaskDataOptions& options, uint64_t seed,
                                           const BatchOptions& batch);
std::unique_ptr<Dataset> make_corpus_dataset(const CorpusOptions& options, uint64_t seed,
                                             const BatchOptions& batch);
std::unique_ptr<Dataset> make_corpus_dataset(const CorpusOptions& options, uint64_t seed,
                                             const BatchOptions& batch, const Vocabulary& source,
                                             const Vocabulary& target);

}  // namespace lookback
