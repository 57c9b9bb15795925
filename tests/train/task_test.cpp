#include "train/task.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "support/tasks.h"
#include "support/text_folder.h"

namespace lookback {
namespace {

using testing::make_task;

constexpr Split kSplits[] = {Split::kTrain, Split::kValid, Split::kTest};

TEST(Tasks, TheBuiltInOnesAreCopyAndReverse) {
  std::vector<std::string> names = tasks().names();
  EXPECT_TRUE(std::count(names.begin(), names.end(), "copy"));
  EXPECT_TRUE(std::count(names.begin(), names.end(), "reverse"));
}

TEST(Tasks, CopyGivesTheSourceBackAndReverseTurnsItRound) {
  auto copy = make_task("type: copy"), reverse = make_task("type: reverse");
  for (uint64_t i = 0; i < 100; ++i) {
    Random random({1, 2, 3, i});
    Example example = copy->sample(7, random);
    EXPECT_EQ(example.source.size(), 7u);
    EXPECT_EQ(example.target, example.source);
    example = reverse->sample(7, random);
    EXPECT_EQ(example.source.size(), 7u);
    EXPECT_EQ(example.target, std::vector<Id>(example.source.rbegin(), example.source.rend()));
  }
}

TEST(Tasks, DefaultsAreTwentyLettersAndLengthsToTwenty) {
  auto task = make_task("type: copy");
  EXPECT_EQ(task->source_vocabulary().size(), 24);
  EXPECT_EQ(task->min_length(), 1);
  EXPECT_EQ(task->max_length(), 20);
  EXPECT_EQ(task->description(), "copy, 20 symbols, lengths 1 to 20");
}

TEST(Tasks, SymbolsAreLettersWhileThereAreEnoughAndNumbersOtherwise) {
  auto letters = make_task("{type: copy, symbols: 26}");
  EXPECT_EQ(letters->source_vocabulary().token(kMarks), "a");
  EXPECT_EQ(letters->source_vocabulary().token(kMarks + 25), "z");
  auto numbers = make_task("{type: reverse, symbols: 50, max_length: 25}");
  EXPECT_EQ(numbers->target_vocabulary().size(), 54);
  EXPECT_EQ(numbers->target_vocabulary().token(kMarks), "0");
  EXPECT_EQ(numbers->target_vocabulary().token(kMarks + 49), "49");
}

TEST(Tasks, SymbolsAreDrawnEvenlyAndWithoutMarks) {
  auto task = make_task("{type: copy, symbols: 3}");
  std::map<Id, int> counts;
  Random random({1, 2, 3, 4});
  for (Id id : task->sample(30000, random).source) ++counts[id];
  EXPECT_EQ(counts.size(), 3u);
  for (Id id : {kMarks, kMarks + 1, kMarks + 2}) EXPECT_NEAR(counts[id], 10000, 500);
}

TEST(Tasks, RefuseOptionsThatMakeNoSense) {
  auto error = [](const std::string& yaml) { return user_error([&] { make_task(yaml); }); };
  EXPECT_EQ(error("type: copy\nmin_length: 5\nmax_length: 4\n"),
            "test.yaml:3: max_length: 4 is below min_length, which is 5");
  EXPECT_NE(error("{type: copy, symbols: 1}").find("symbols"), std::string::npos);
  EXPECT_NE(error("{type: copy, min_length: 0}").find("min_length"), std::string::npos);
  EXPECT_NE(error("{type: copi}").find("did you mean \"copy\"?"), std::string::npos);
  EXPECT_NE(error("{type: copy, symbol: 5}").find("did you mean \"symbols\"?"), std::string::npos);
}

TEST(Splits, EachSourceBelongsToOneAndTheSharesAreAsStated) {
  auto task = make_task("type: copy");
  std::map<Split, int> counts;
  Random random({1, 2, 3, 4});
  for (int i = 0; i < 16000; ++i) ++counts[split_of(1, task->sample(10, random).source)];
  EXPECT_NEAR(counts[Split::kTrain], 12000, 300);
  EXPECT_NEAR(counts[Split::kValid], 2000, 200);
  EXPECT_NEAR(counts[Split::kTest], 2000, 200);
}

TEST(Splits, DependOnTheHeldOutSeedAndOnOrder) {
  auto task = make_task("type: copy");
  Random random({1, 2, 3, 4});
  int by_seed = 0, by_order = 0;
  for (int i = 0; i < 1000; ++i) {
    std::vector<Id> source = task->sample(10, random).source;
    std::vector<Id> backwards(source.rbegin(), source.rend());
    by_seed += split_of(1, source) != split_of(2, source);
    by_order += split_of(1, source) != split_of(1, backwards);
  }
  EXPECT_GT(by_seed, 200);
  EXPECT_GT(by_order, 200);
}

TEST(Splits, DrawsOfOneNeverMeetDrawsOfAnother) {
  // 4 symbols and length 4: 256 sources, so that 3,000 draws of each split meet nearly all of them.
  auto task = make_task("{type: copy, symbols: 4}");
  std::map<Split, std::set<std::vector<Id>>> seen;
  for (Split split : kSplits) {
    for (uint64_t i = 0; i < 3000; ++i) {
      Random random({i, 7, 0, 0});
      seen[split].insert(draw(*task, split, 1, 4, random).source);
    }
  }
  size_t total = 0;
  for (Split split : kSplits) total += seen[split].size();
  std::set<std::vector<Id>> all;
  for (Split split : kSplits) all.insert(seen[split].begin(), seen[split].end());
  EXPECT_EQ(all.size(), total);
  EXPECT_GT(total, 250u);
}

TEST(Splits, LengthsWithoutASourceAreSkipped) {
  // Of two sources of length 1 at most two splits have one; which ones depends on the seed.
  auto task = make_task("{type: copy, symbols: 2, max_length: 12}");
  for (uint64_t seed = 0; seed < 20; ++seed) {
    std::set<Split> expected;
    for (Id id : {kMarks, kMarks + 1}) expected.insert(split_of(seed, {id}));
    for (Split split : kSplits) {
      std::vector<int64_t> lengths = lengths_with(*task, split, seed);
      EXPECT_EQ(lengths.front() == 1, expected.count(split) == 1) << seed << split_name(split);
      EXPECT_EQ(lengths.back(), 12);
      EXPECT_EQ(lengths, lengths_with(*task, split, seed));
    }
  }
}

TEST(Splits, EveryOrdinaryLengthIsThere) {
  auto task = make_task("{type: copy, min_length: 2, max_length: 40}");
  for (Split split : kSplits) EXPECT_EQ(lengths_with(*task, split, 1).size(), 39u);
}

TEST(Splits, ATaskTooSmallForASplitIsRefused) {
  auto task = make_task("{type: copy, symbols: 2, max_length: 1}");
  Split missing = split_of(1, {kMarks}) == Split::kTest || split_of(1, {kMarks + 1}) == Split::kTest
                      ? Split::kValid
                      : Split::kTest;
  EXPECT_EQ(
      user_error([&] { lengths_with(*task, missing, 1); }),
      format("data.task: copy, 2 symbols, lengths 1 to 1: too few different sources, none falls "
             "into the {} split; give more symbols, a greater max_length, or another "
             "data.held_out.seed",
             split_name(missing)));
  // Some seed leaves nothing to train on.
  uint64_t seed = 0;
  while (split_of(seed, {kMarks}) == Split::kTrain || split_of(seed, {kMarks + 1}) == Split::kTrain)
    ++seed;
  EXPECT_NE(user_error([&] { lengths_with(*task, Split::kTrain, seed); }).find("train split"),
            std::string::npos);
}

}  // namespace
}  // namespace lookback
