#include "train/batching.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "core/error.h"
#include "core/random.h"

namespace lookback {
namespace {

/// Pairs whose lengths look like those of captions: about 12 words, a long tail, the sides alike.
std::vector<Example> captions(int64_t count) {
  std::vector<Example> examples;
  Random random({1, purpose("captions"), 0, 0});
  for (int64_t i = 0; i < count; ++i) {
    double length = 12 * std::exp(0.35 * random.normal());
    size_t source = std::max<int64_t>(1, std::lround(length));
    size_t target = std::max<int64_t>(1, std::lround(length + 2 * random.normal()));
    examples.push_back({std::vector<Id>(source, kMarks), std::vector<Id>(target, kMarks)});
  }
  return examples;
}

int64_t longest(const std::vector<Example>& examples, const BatchIndices& batch,
                std::vector<Id> Example::*side) {
  size_t most = 0;
  for (int64_t i : batch) most = std::max(most, (examples[i].*side).size() + 1);
  return static_cast<int64_t>(most);
}

double padding_share(const std::vector<Example>& examples,
                     const std::vector<BatchIndices>& batches) {
  double real = 0, padded = 0;
  for (const BatchIndices& batch : batches) {
    for (auto side : {&Example::source, &Example::target}) {
      padded += static_cast<double>(longest(examples, batch, side) * std::ssize(batch));
      for (int64_t i : batch) real += static_cast<double>((examples[i].*side).size() + 1);
    }
  }
  return 1 - real / padded;
}

void expect_each_once(const std::vector<BatchIndices>& batches, int64_t count) {
  std::vector<int64_t> all;
  for (const BatchIndices& batch : batches) {
    EXPECT_FALSE(batch.empty());
    all.insert(all.end(), batch.begin(), batch.end());
  }
  std::sort(all.begin(), all.end());
  ASSERT_EQ(std::ssize(all), count);
  for (int64_t i = 0; i < count; ++i) ASSERT_EQ(all[i], i);
}

constexpr Grouping kGroupings[] = {Grouping::kMixed, Grouping::kNearLength, Grouping::kSameLength};
const BatchOptions kSentences = {.size = 32, .unit = "sentences"};
const BatchOptions kTokens = {.size = 500, .unit = "tokens"};

TEST(Batching, AnEpochHoldsEachExampleOnce) {
  std::vector<Example> examples = captions(5003);
  for (Grouping grouping : kGroupings) {
    for (const BatchOptions& options : {kSentences, kTokens}) {
      expect_each_once(plan_epoch(examples, options, grouping, 1, 0), 5003);
      expect_each_once(plan_epoch(examples, options, grouping, 1, 7), 5003);
    }
  }
  expect_each_once(batches_by_length(examples, kSentences), 5003);
  expect_each_once(batches_by_length(examples, kTokens), 5003);
}

TEST(Batching, BatchesKeepTheirSize) {
  std::vector<Example> examples = captions(5000);
  for (Grouping grouping : kGroupings) {
    for (const BatchIndices& batch : plan_epoch(examples, kSentences, grouping, 1, 0))
      EXPECT_LE(std::ssize(batch), 32);
    for (const BatchIndices& batch : plan_epoch(examples, kTokens, grouping, 1, 0))
      EXPECT_LE(longest(examples, batch, &Example::target) * std::ssize(batch), 500);
  }
  EXPECT_EQ(plan_epoch(examples, kSentences, Grouping::kNearLength, 1, 0).size(), 157u);
}

TEST(Batching, TokenBatchesAreFilled) {
  std::vector<Example> examples = captions(20000);
  auto batches =
      plan_epoch(examples, {.size = 1000, .unit = "tokens"}, Grouping::kNearLength, 1, 0);
  double padded = 0;
  for (const BatchIndices& batch : batches)
    padded += static_cast<double>(longest(examples, batch, &Example::target) * std::ssize(batch));
  EXPECT_GT(padded / static_cast<double>(batches.size()), 900);
}

TEST(Batching, ASentenceOverTheTokensIsABatchOfOne) {
  std::vector<Example> examples;
  for (size_t length : {3, 50, 3, 60, 3}) examples.push_back({{kMarks}, std::vector<Id>(length)});
  BatchOptions options = {.size = 12, .unit = "tokens"};
  for (Grouping grouping : kGroupings) {
    auto batches = plan_epoch(examples, options, grouping, 1, 0);
    expect_each_once(batches, 5);
    for (const BatchIndices& batch : batches) {
      if (longest(examples, batch, &Example::target) > 12) {
        EXPECT_EQ(batch.size(), 1u);
      }
    }
  }
}

TEST(Batching, BucketsByLengthHoldLittlePadding) {
  std::vector<Example> examples = captions(20000);
  BatchOptions options = {.size = 64, .unit = "sentences"};
  double mixed = padding_share(examples, plan_epoch(examples, options, Grouping::kMixed, 1, 0));
  double near = padding_share(examples, plan_epoch(examples, options, Grouping::kNearLength, 1, 0));
  double sorted = padding_share(examples, batches_by_length(examples, options));
  EXPECT_GT(mixed, 0.4);
  EXPECT_LT(near, 0.12);
  EXPECT_LT(sorted, near);
}

TEST(Batching, SameLengthMeansOneSourceLength) {
  std::vector<Example> examples = captions(3000);
  auto batches = plan_epoch(examples, kSentences, Grouping::kSameLength, 1, 0);
  for (const BatchIndices& batch : batches)
    for (int64_t i : batch) EXPECT_EQ(examples[i].source.size(), examples[batch[0]].source.size());
  // All batches of a length are full but its last.
  std::map<size_t, int64_t> counts;
  for (const Example& example : examples) ++counts[example.source.size()];
  int64_t expected = 0;
  for (auto [length, count] : counts) expected += (count + 31) / 32;
  EXPECT_EQ(std::ssize(batches), expected);
}

TEST(Batching, OrderDependsOnSeedAndEpochAlone) {
  std::vector<Example> examples = captions(1000);
  for (Grouping grouping : kGroupings) {
    auto plan = [&](uint64_t seed, int64_t epoch) {
      return plan_epoch(examples, kSentences, grouping, seed, epoch);
    };
    EXPECT_EQ(plan(1, 0), plan(1, 0));
    EXPECT_NE(plan(1, 0), plan(1, 1));
    EXPECT_NE(plan(1, 0), plan(2, 0));
  }
}

TEST(Batching, LengthsDoNotComeInOrder) {
  std::vector<Example> examples = captions(5000);
  auto batches = plan_epoch(examples, kSentences, Grouping::kNearLength, 1, 0);
  auto length = [&](const BatchIndices& batch) {
    return std::max(longest(examples, batch, &Example::source),
                    longest(examples, batch, &Example::target));
  };
  int shorter = 0;
  for (size_t i = 1; i < batches.size(); ++i)
    shorter += length(batches[i]) < length(batches[i - 1]);
  EXPECT_GT(shorter, std::ssize(batches) / 4);
}

TEST(Batching, EpochsBringOtherExamplesTogether) {
  std::vector<Example> examples = captions(5000);
  for (Grouping grouping : kGroupings) {
    std::set<BatchIndices> seen;
    int64_t batches = 0;
    for (int64_t epoch : {0, 1}) {
      for (BatchIndices batch : plan_epoch(examples, kSentences, grouping, 1, epoch)) {
        std::sort(batch.begin(), batch.end());
        seen.insert(batch);
        ++batches;
      }
    }
    // A length that few examples have comes as the same batch again.
    EXPECT_GT(std::ssize(seen), batches * 9 / 10);
  }
}

TEST(EpochBatches, NumbersStepsThroughTheEpochs) {
  std::vector<Example> examples = captions(3000);
  for (const BatchOptions& options : {kSentences, BatchOptions{.size = 100, .unit = "tokens"}}) {
    EpochBatches batches(examples, options, Grouping::kNearLength, 3);
    EXPECT_EQ(batches.steps_in_epochs(0), 0);
    for (int64_t epoch = 0; epoch < 4; ++epoch) {
      auto plan = plan_epoch(examples, options, Grouping::kNearLength, 3, epoch);
      int64_t start = batches.steps_in_epochs(epoch);
      ASSERT_EQ(batches.steps_in_epochs(epoch + 1) - start, std::ssize(plan));
      for (size_t i = 0; i < plan.size(); ++i)
        ASSERT_EQ(batches.batch(start + static_cast<int64_t>(i)), plan[i]);
    }
  }
}

TEST(EpochBatches, AnswersDoNotDependOnEarlierQuestions) {
  std::vector<Example> examples = captions(1000);
  EpochBatches forwards(examples, kTokens, Grouping::kNearLength, 3);
  EpochBatches backwards(examples, kTokens, Grouping::kNearLength, 3);
  std::vector<BatchIndices> seen;
  for (int64_t step = 0; step < 120; ++step) seen.push_back(forwards.batch(step));
  for (int64_t step = 119; step >= 0; --step) ASSERT_EQ(backwards.batch(step), seen[step]);
}

TEST(EpochBatches, RefusesNothingAndNegativeSteps) {
  std::vector<Example> examples = captions(10);
  EXPECT_THROW(EpochBatches({}, kSentences, Grouping::kMixed, 1), Error);
  EpochBatches batches(examples, kSentences, Grouping::kMixed, 1);
  EXPECT_THROW(batches.batch(-1), Error);
  EXPECT_THROW(batches.steps_in_epochs(-1), Error);
}

TEST(BatchOptions, AreReadAndChecked) {
  auto options = [](const std::string& yaml) {
    Config source = Config::from_text(yaml, "test.yaml"), resolved;
    Section section(source, resolved);
    BatchOptions out;
    read(section, out);
    return out;
  };
  EXPECT_EQ(options("{}"), BatchOptions({.size = 64, .unit = "sentences"}));
  EXPECT_EQ(options("{size: 4096, unit: tokens}"), BatchOptions({.size = 4096, .unit = "tokens"}));
  EXPECT_THROW(options("size: 0"), UserError);
  EXPECT_THROW(options("unit: words"), UserError);
}

}  // namespace
}  // namespace lookback
