#include "train/dataset.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "support/text_folder.h"

namespace lookback {
namespace {

DataOptions options_of(const std::string& yaml) {
  Config source = Config::from_text(yaml, "test.yaml"), resolved;
  Section root(source, resolved);
  Section data = root.section("data");
  DataOptions options = read_data(data);
  refuse_unknown(source, resolved);
  return options;
}

std::unique_ptr<Dataset> dataset_of(const std::string& yaml, uint64_t seed = 1,
                                    const BatchOptions& batch = {}) {
  return make_dataset(options_of(yaml), seed, batch);
}

std::string error_of(const std::string& yaml) {
  return user_error([&] { dataset_of(yaml); });
}

const std::string kCopy = "data: {task: {type: copy, symbols: 5, max_length: 6}}";

std::set<size_t> source_lengths(const std::vector<Example>& examples) {
  std::set<size_t> lengths;
  for (const Example& example : examples) lengths.insert(example.source.size());
  return lengths;
}

TEST(ReadData, WantsExactlyOneKind) {
  EXPECT_EQ(
      error_of("data: {}"),
      "test.yaml:1: data.task: missing; give data.task: {type: ...} or data.corpus: {train: ...}");
  EXPECT_EQ(error_of("data:\n  task: {type: copy}\n  corpus: {level: word}\n"),
            "test.yaml:3: data.corpus: stands beside data.task; give one of the two");
  EXPECT_NE(
      error_of("data: {task: {symbols: 5}}").find("data.task.type: missing; name a task (known: "),
      std::string::npos);
}

TEST(ReadData, KnowsTheOptionsOfATask) {
  auto task = std::get<TaskDataOptions>(options_of("data: {task: {type: copy}}"));
  EXPECT_TRUE(task.same_length);
  EXPECT_EQ(task.train_examples, 0);
  EXPECT_EQ(task.held_out_seed, 1u);
  EXPECT_EQ(task.held_out_examples, 1000);
  task = std::get<TaskDataOptions>(
      options_of("data: {task: {type: copy}, same_length: false, train_examples: 9, "
                 "held_out: {seed: 4, examples: 7}}"));
  EXPECT_FALSE(task.same_length);
  EXPECT_EQ(task.train_examples, 9);
  EXPECT_EQ(task.held_out_seed, 4u);
  EXPECT_EQ(task.held_out_examples, 7);
  EXPECT_NE(error_of("data: {task: {type: copy}, held_out: {examples: 0}}")
                .find("data.held_out.examples"),
            std::string::npos);
  EXPECT_NE(error_of("data: {task: {type: copy}, same_lenght: true}").find("same_length"),
            std::string::npos);
}

TEST(TaskDataset, StepsAreAFunctionOfSeedAndStep) {
  auto one = dataset_of(kCopy, 1), same = dataset_of(kCopy, 1), other = dataset_of(kCopy, 2);
  std::vector<std::vector<Example>> forwards;
  for (int64_t step = 0; step < 20; ++step) forwards.push_back(one->training_examples(step));
  for (int64_t step = 19; step >= 0; --step)
    EXPECT_EQ(same->training_examples(step), forwards[step]) << step;
  EXPECT_NE(forwards[0], forwards[1]);
  int same_length = 0;
  for (int64_t step = 0; step < 20; ++step) {
    std::vector<Example> examples = other->training_examples(step);
    same_length += source_lengths(examples) == source_lengths(forwards[step]);
  }
  EXPECT_LT(same_length, 15);
  const std::string one_length = "data: {task: {type: copy, min_length: 9, max_length: 9}}";
  EXPECT_NE(dataset_of(one_length, 1)->training_examples(0),
            dataset_of(one_length, 2)->training_examples(0));
}

TEST(TaskDataset, HeldOutSentencesAreNeverDrawnInTraining) {
  for (const char* more : {"", ", same_length: false", ", train_examples: 5000"}) {
    std::string yaml = kCopy.substr(0, kCopy.size() - 1) + more + "}";
    auto data = dataset_of(yaml);
    std::set<std::vector<Id>> valid, test;
    for (const Example& example : data->held_out(Split::kValid)) valid.insert(example.source);
    for (const Example& example : data->held_out(Split::kTest)) test.insert(example.source);
    for (const std::vector<Id>& source : valid) EXPECT_FALSE(test.count(source));
    for (uint64_t seed : {1, 2}) {
      auto run = dataset_of(yaml, seed);
      for (int64_t step = 0; step < 100; ++step) {
        for (const Example& example : run->training_examples(step)) {
          ASSERT_FALSE(valid.count(example.source));
          ASSERT_FALSE(test.count(example.source));
        }
      }
    }
  }
}

TEST(TaskDataset, HeldOutSetsDoNotDependOnTheRunsSeed) {
  auto one = dataset_of(kCopy, 1), two = dataset_of(kCopy, 2);
  for (Split split : {Split::kValid, Split::kTest})
    EXPECT_EQ(one->held_out(split), two->held_out(split));
  auto other =
      dataset_of("data: {task: {type: copy, symbols: 5, max_length: 6}, held_out: {seed: 2}}");
  EXPECT_NE(one->held_out(Split::kTest), other->held_out(Split::kTest));
  EXPECT_THROW(one->held_out(Split::kTrain), Error);
}

TEST(TaskDataset, HeldOutLengthsAreSpreadEvenly) {
  auto data = dataset_of("data: {task: {type: copy, min_length: 3, max_length: 9}}");
  for (Split split : {Split::kValid, Split::kTest}) {
    std::map<size_t, int> counts;
    for (const Example& example : data->held_out(split)) ++counts[example.source.size()];
    EXPECT_EQ(data->held_out(split).size(), 1000u);
    EXPECT_EQ(counts.size(), 7u);
    for (auto [length, count] : counts) EXPECT_NEAR(count, 1000.0 / 7, 1) << length;
  }
}

TEST(TaskDataset, FewHeldOutExamplesStillReachOverTheLengths) {
  auto data = dataset_of(
      "data: {task: {type: copy, min_length: 2, max_length: 41}, held_out: {examples: 4}}");
  EXPECT_EQ(source_lengths(data->held_out(Split::kTest)), (std::set<size_t>{2, 12, 22, 32}));
}

TEST(TaskDataset, LongerTestSentencesLeaveTheShortOnesAsTheyWere) {
  auto text = [](int length, int examples) {
    return format(
        "data: {{task: {{type: reverse, symbols: 50, min_length: 2, max_length: {}}}, "
        "held_out: {{examples: {}}}}}",
        length, examples);
  };
  auto trained = dataset_of(text(25, 240)), longer = dataset_of(text(30, 290));
  const auto& before = trained->held_out(Split::kTest);
  const auto& after = longer->held_out(Split::kTest);
  EXPECT_EQ(after.back().source.size(), 30u);
  EXPECT_TRUE(std::equal(before.begin(), before.end(), after.begin()));
}

TEST(TaskDataset, SentencesOfALengthDoNotDependOnTheOtherLengths) {
  auto of_length_ten = [](const char* task) {
    auto data = dataset_of(format("data: {{task: {{type: copy, {}}}}}", task));
    std::vector<Example> examples;
    for (const Example& example : data->held_out(Split::kTest))
      if (example.source.size() == 10 && examples.size() < 20) examples.push_back(example);
    return examples;
  };
  std::vector<Example> examples = of_length_ten("min_length: 2, max_length: 20");
  EXPECT_EQ(examples.size(), 20u);
  EXPECT_NE(examples[0], examples[1]);
  EXPECT_EQ(of_length_ten("min_length: 7, max_length: 12"), examples);
}

TEST(TaskDataset, ABatchHasOneLengthUnlessMixed) {
  auto same = dataset_of(kCopy),
       mixed =
           dataset_of("data: {task: {type: copy, symbols: 5, max_length: 6}, same_length: false}");
  std::set<size_t> seen;
  for (int64_t step = 0; step < 100; ++step) {
    std::vector<Example> examples = same->training_examples(step);
    EXPECT_EQ(examples.size(), 64u);
    std::set<size_t> lengths = source_lengths(examples);
    EXPECT_EQ(lengths.size(), 1u);
    seen.insert(lengths.begin(), lengths.end());
  }
  EXPECT_EQ(seen, (std::set<size_t>{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(mixed->training_examples(0).size(), 64u);
  EXPECT_EQ(source_lengths(mixed->training_examples(0)).size(), 6u);
}

TEST(TaskDataset, BatchesByTokensFollowTheLength) {
  for (const char* same_length : {"true", "false"}) {
    auto data = dataset_of(format("data: {{task: {{type: copy}}, same_length: {}}}", same_length),
                           1, {.size = 200, .unit = "tokens"});
    for (int64_t step = 0; step < 50; ++step) {
      Batch batch = make_batch(data->training_examples(step));
      EXPECT_LE(batch.target.rows * batch.target.columns, 200);
      EXPECT_GT((batch.target.rows + 1) * 21, 200);
    }
  }
}

TEST(TaskDataset, EndlessSamplesHaveNoEpochs) {
  auto data = dataset_of(kCopy);
  EXPECT_EQ(user_error([&] { data->steps_in_epochs(1); }),
            "train.epochs: epochs need a finite training set; give train.steps, or "
            "data.train_examples above 0");
  EXPECT_EQ(data->description(),
            "copy, 5 symbols, lengths 1 to 6; fresh training examples each step; "
            "1000 valid and 1000 test examples");
}

TEST(TaskDataset, AFixedTrainingSetComesOnceAnEpoch) {
  for (const char* same_length : {"true", "false"}) {
    std::string yaml = format(
        "data: {{task: {{type: reverse, symbols: 50, max_length: 25}}, same_length: {}, "
        "train_examples: 1000}}",
        same_length);
    auto data = dataset_of(yaml, 1), other = dataset_of(yaml, 2);
    auto epoch = [](Dataset& from, int64_t number) {
      std::vector<std::vector<Id>> sources;
      for (int64_t step = from.steps_in_epochs(number); step < from.steps_in_epochs(number + 1);
           ++step)
        for (const Example& example : from.training_examples(step))
          sources.push_back(example.source);
      return sources;
    };
    auto first = epoch(*data, 0), second = epoch(*data, 1), others = epoch(*other, 0);
    EXPECT_EQ(first.size(), 1000u);
    EXPECT_NE(first, second);
    EXPECT_NE(first, others);
    for (auto* sources : {&first, &second, &others}) std::sort(sources->begin(), sources->end());
    EXPECT_EQ(first, second);
    EXPECT_EQ(first, others);  // another seed: the same set in another order
    bool one_length = source_lengths(data->training_examples(0)).size() == 1;
    EXPECT_EQ(one_length, std::string(same_length) == "true");
  }
}

TEST(TaskDataset, RefusesVocabulariesOfAnotherTask) {
  DataOptions options = options_of("data: {task: {type: copy, symbols: 20}}");
  Vocabulary own = std::get<TaskDataOptions>(options).task->source_vocabulary();
  EXPECT_NO_THROW(make_dataset(options, 1, {}, own, own));
  Vocabulary other({"a", "b"});
  EXPECT_EQ(
      user_error([&] { make_dataset(options, 1, {}, own, other); }),
      "data.task: copy, 20 symbols, lengths 1 to 20: its target vocabulary has 24 tokens and "
      "differs from the model's, which has 6; the task must have the symbols that the model was "
      "trained on");
  EXPECT_NE(user_error([&] { make_dataset(options, 1, {}, other, own); }).find("source vocabulary"),
            std::string::npos);
}

/// A small corpus whose training lines repeat enough for every word to be known.
struct Corpus {
  TextFolder folder;
  Corpus() {
    std::string source, target;
    for (int i = 0; i < 500; ++i) {
      for (int j = 0; j <= i % 9; ++j) source += "w" + std::to_string((i + j) % 40) + " ";
      for (int j = 0; j <= i % 7; ++j) target += "W" + std::to_string((i * j) % 30) + " ";
      source += "\n";
      target += "\n";
    }
    folder.write("train.s", source + "\n");
    folder.write("train.t", target + "lost\n");
    folder.write("valid.s", "w1 w2\n\nw3 new\n");
    folder.write("valid.t", "W1\nW2\nW3 W4 W5 W6 W7 W8 W9 W1 W2 W3 W4\n");
  }
  std::string yaml(const std::string& more = "") const {
    return format(
        "data: {{corpus: {{train: {{source: {0}, target: {1}}}, "
        "valid: {{source: {2}, target: {3}}}, max_length: 10{4}}}}}",
        folder.path("train.s"), folder.path("train.t"), folder.path("valid.s"),
        folder.path("valid.t"), more);
  }
};

TEST(CorpusDataset, HasVocabulariesOfTheTrainingTextAndEveryHeldOutLine) {
  Corpus corpus;
  auto data = dataset_of(corpus.yaml());
  EXPECT_EQ(data->source_vocabulary().size(), 44);
  EXPECT_EQ(data->target_vocabulary().id("lost"), kUnknown);
  const std::vector<Example>& valid = data->held_out(Split::kValid);
  ASSERT_EQ(valid.size(), 3u);
  EXPECT_TRUE(valid[1].source.empty());
  EXPECT_EQ(valid[2].source[1], kUnknown);
  EXPECT_EQ(valid[2].target.size(), 11u);
  EXPECT_EQ(user_error([&] { data->held_out(Split::kTest); }),
            "data.corpus.test: missing; give {source: FILE, target: FILE}");
  EXPECT_NE(data->description().find("500 training pairs"), std::string::npos);
}

TEST(CorpusDataset, SaysWhetherBothSidesHaveOneVocabulary) {
  Corpus corpus;
  EXPECT_FALSE(one_vocabulary(options_of(corpus.yaml())));
  std::string joint = corpus.yaml(", joint_vocabulary: true");
  EXPECT_TRUE(one_vocabulary(options_of(joint)));
  auto data = dataset_of(joint);
  EXPECT_EQ(data->source_vocabulary(), data->target_vocabulary());
  EXPECT_EQ(data->target_vocabulary().size(), 74);
  EXPECT_NE(data->description().find("; one vocabulary of 74 tokens"), std::string::npos);
  EXPECT_TRUE(one_vocabulary(options_of(kCopy)));
  auto task = std::get<TaskDataOptions>(options_of(kCopy));
  struct TwoLanguages final : Task {
    Vocabulary source{{"a"}}, target{{"b"}};
    const Vocabulary& source_vocabulary() const override { return source; }
    const Vocabulary& target_vocabulary() const override { return target; }
    int64_t min_length() const override { return 1; }
    int64_t max_length() const override { return 1; }
    Example sample(int64_t, Random&) const override { return {}; }
    std::string description() const override { return ""; }
  };
  task.task = std::make_shared<TwoLanguages>();
  EXPECT_FALSE(one_vocabulary(task));
}

TEST(CorpusDataset, AnEpochHoldsEachPairOnceAndSteps) {
  Corpus corpus;
  auto data = dataset_of(corpus.yaml(), 1, {.size = 16}),
       same = dataset_of(corpus.yaml(), 1, {.size = 16});
  EXPECT_EQ(data->steps_in_epochs(1), 32);
  EXPECT_EQ(data->steps_in_epochs(3), 96);
  std::map<std::vector<Id>, int> first, second;
  for (int64_t step = 0; step < 32; ++step)
    for (const Example& example : data->training_examples(step)) ++first[example.source];
  for (int64_t step = 32; step < 64; ++step)
    for (const Example& example : data->training_examples(step)) ++second[example.source];
  int total = 0;
  for (const auto& [source, count] : first) total += count;
  EXPECT_EQ(total, 500);
  EXPECT_EQ(first, second);
  EXPECT_EQ(same->training_examples(40), data->training_examples(40));
  EXPECT_NE(dataset_of(corpus.yaml(), 2, {.size = 16})->training_examples(40),
            data->training_examples(40));
}

TEST(CorpusDataset, WithGivenVocabulariesFilesAreReadWhenNeeded) {
  Corpus corpus;
  auto trained = dataset_of(corpus.yaml());
  std::vector<Example> step = trained->training_examples(3);
  Vocabulary source = trained->source_vocabulary(), target = trained->target_vocabulary();
  auto again = make_dataset(options_of(corpus.yaml()), 1, {}, source, target);
  EXPECT_EQ(again->training_examples(3), step);

  std::filesystem::remove(corpus.folder.path("train.s"));
  auto data = make_dataset(options_of(corpus.yaml()), 1, {}, source, target);
  EXPECT_EQ(data->held_out(Split::kValid), trained->held_out(Split::kValid));
  EXPECT_EQ(user_error([&] { data->training_examples(0); }).find(corpus.folder.path("train.s")),
            0u);
}

TEST(CorpusDataset, ANewRunReadsEveryFileAtOnce) {
  Corpus corpus;
  std::string none = corpus.folder.path("none");
  std::string yaml = corpus.yaml(format(", test: {{source: {0}, target: {0}}}", none));
  EXPECT_EQ(error_of(yaml).find(none), 0u);
  std::filesystem::remove(corpus.folder.path("valid.t"));
  EXPECT_EQ(error_of(corpus.yaml()).find(corpus.folder.path("valid.t")), 0u);
}

TEST(CorpusDataset, ReportsAnEmptyVocabulary) {
  Corpus corpus;
  EXPECT_EQ(error_of(corpus.yaml(", min_frequency: 100000"))
                .find(corpus.folder.path("train.s") + ": the vocabulary is empty"),
            0u);
}

}  // namespace
}  // namespace lookback
