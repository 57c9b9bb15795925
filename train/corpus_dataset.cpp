#include <optional>

#include "core/error.h"
#include "core/log.h"
#include "train/dataset.h"

namespace lookback {
namespace {

/// Parallel text with length-bucketed batches. Files are read when they are first needed.
class CorpusDataset final : public Dataset {
 public:
  CorpusDataset(const CorpusOptions& options, uint64_t seed, const BatchOptions& batch)
      : options_(options), seed_(seed), batch_(batch) {
    ParallelText text = load_text();
    auto [source, target] = build_vocabularies(text, options_.train, options_);
    source_ = std::move(source);
    target_ = std::move(target);
    start(std::move(text));
    held_out(Split::kValid);
    if (options_.test.given()) held_out(Split::kTest);
  }

  CorpusDataset(const CorpusOptions& options, uint64_t seed, const BatchOptions& batch,
                const Vocabulary& source, const Vocabulary& target)
      : options_(options), seed_(seed), batch_(batch), source_(source), target_(target) {}

  const Vocabulary& source_vocabulary() const override { return *source_; }
  const Vocabulary& target_vocabulary() const override { return *target_; }

  std::vector<Example> training_examples(int64_t step) override {
    std::vector<Example> examples;
    for (int64_t i : batches().batch(step)) examples.push_back(train_[i]);
    return examples;
  }
  int64_t steps_in_epochs(int64_t epochs) override { return batches().steps_in_epochs(epochs); }

  const std::vector<Example>& held_out(Split split) override {
    if (split == Split::kTrain) fail("[dataset] the training split is not held out");
    const TextPair& files = files_of(split);
    std::optional<std::vector<Example>>& examples = split == Split::kValid ? valid_ : test_;
    if (!files.given())
      fail_user("data.corpus.{}: missing; give {{source: FILE, target: FILE}}", split_name(split));
    // Every line is kept, over-long and empty ones too: a score is of the whole file.
    if (!examples) examples = encode(read_text(files), *source_, *target_);
    return *examples;
  }

  void refuse_longer(Split split, const PositionLimits& limits) override {
    const TextPair& files = files_of(split);
    if (!limits.any() || !files.given()) return;
    bool train = split == Split::kTrain;
    if (train) batches();
    const std::vector<Example>& examples = train ? train_ : held_out(split);
    for (size_t i = 0; i < examples.size(); ++i) {
      std::optional<TooLong> problem = too_long(examples[i], limits);
      if (!problem) continue;
      int64_t line = train && !train_lines_.empty() ? train_lines_[i] : static_cast<int64_t>(i) + 1;
      std::string remedy =
          train && limits.least() > 1
              ? format("; data.corpus.max_length: {} would leave longer lines out of training",
                       limits.least() - 1)
              : "";
      fail_user("{}:{}: {}{}", problem->source ? files.source : files.target, line, problem->text,
                remedy);
    }
  }

  std::string description() const override {
    std::string files = format("{} -> {}", options_.train.source, options_.train.target);
    std::string words =
        options_.joint_vocabulary
            ? format("one vocabulary of {} tokens", source_->size())
            : format("vocabularies of {} and {} tokens", source_->size(), target_->size());
    if (!batches_) return format("{}; {}", files, words);
    return format("{}; {} training pairs; {}", files, train_.size(), words);
  }

 private:
  ParallelText load_text() const {
    ParallelText text = read_training_text(options_.train, options_.max_length);
    if (text.dropped_long + text.dropped_empty > 0)
      log_info(
          "{}: {} of {} training pairs left out: {} with a side of more than {} words, {} with an "
          "empty side",
          options_.train.source, text.dropped_long + text.dropped_empty,
          text.size() + text.dropped_long + text.dropped_empty, text.dropped_long,
          options_.max_length, text.dropped_empty);
    return text;
  }
  const TextPair& files_of(Split split) const {
    return split == Split::kTrain   ? options_.train
           : split == Split::kValid ? options_.valid
                                    : options_.test;
  }
  void start(ParallelText text) {
    train_ = encode(text, *source_, *target_);
    train_lines_ = std::move(text.lines);
    batches_.emplace(train_, batch_, Grouping::kNearLength, seed_);
  }
  EpochBatches& batches() {
    if (!batches_) start(load_text());
    return *batches_;
  }

  CorpusOptions options_;
  uint64_t seed_;
  BatchOptions batch_;
  std::optional<Vocabulary> source_, target_;
  std::vector<Example> train_;
  std::vector<int64_t> train_lines_;  // as ParallelText::lines
  std::optional<EpochBatches> batches_;
  std::optional<std::vector<Example>> valid_, test_;
};

}  // namespace

std::unique_ptr<Dataset> make_corpus_dataset(const CorpusOptions& options, uint64_t seed,
                                             const BatchOptions& batch) {
  return std::make_unique<CorpusDataset>(options, seed, batch);
}

std::unique_ptr<Dataset> make_corpus_dataset(const CorpusOptions& options, uint64_t seed,
                                             const BatchOptions& batch, const Vocabulary& source,
                                             const Vocabulary& target) {
  return std::make_unique<CorpusDataset>(options, seed, batch, source, target);
}

}  // namespace lookback
