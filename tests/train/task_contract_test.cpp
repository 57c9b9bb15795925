// What every registered task promises, one's own among them, whatever its options.

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <ostream>
#include <set>

#include "support/registered.h"
#include "support/tasks.h"
#include "support/text_folder.h"

namespace lookback {
namespace {

using testing::make_task;

/// Every task with its defaults and, where it has an entry, with small spaces and large ones.
std::vector<std::string> all_tasks() {
  return testing::sections(
      tasks().names(),
      {{"copy", {"", "symbols: 3, max_length: 5"}},
       {"reverse", {"", "symbols: 3, max_length: 5"}},
       {"sort", {"", "symbols: 3, max_length: 6", "symbols: 100, max_length: 60"}},
       {"copy_token", {"", "symbols: 2, max_length: 5", "symbols: 50, max_length: 60"}},
       {"recall",
        {"", "keys: 3, values: 2, max_pairs: 3", "keys: 40, values: 30, max_pairs: 40",
         "min_pairs: 4, max_pairs: 4"}},
       {"agreement",
        {"", "classes: 3, distractors: 2, min_length: 3, max_length: 7",
         "classes: 30, distractors: 40, min_length: 3, max_length: 50"}},
       {"dates", {"", "first_year: 2000, last_year: 2000"}},
       {"toy_translation",
        {"", "words: 20, max_length: 12", "words: 200, max_length: 60",
         "words: 3000, min_length: 7, max_length: 30"}}});
}

class AnyTask : public ::testing::TestWithParam<std::string> {
 protected:
  std::unique_ptr<Task> task_ = make_task("{" + GetParam() + "}");
  Example sample(int64_t length, uint64_t number) const {
    Random random({.seed = 1, .purpose = purpose("contract"), .index = number});
    return task_->sample(length, random);
  }
};

TEST_P(AnyTask, HasLengthsAndASampleOfEachIsOfThatLength) {
  std::vector<int64_t> lengths = possible_lengths(*task_);
  ASSERT_FALSE(lengths.empty());
  EXPECT_EQ(lengths.front(), task_->min_length());
  EXPECT_EQ(lengths.back(), task_->max_length());
  EXPECT_GE(lengths.front(), 1);
  for (int64_t length : lengths)
    for (uint64_t i = 0; i < 200; ++i)
      ASSERT_EQ(static_cast<int64_t>(sample(length, i).source.size()), length);
}

TEST_P(AnyTask, SamplesAreWordsOfTheVocabulariesAndTextGivesThemBack) {
  const Vocabulary &source = task_->source_vocabulary(), &target = task_->target_vocabulary();
  for (int64_t length : possible_lengths(*task_))
    for (uint64_t i = 0; i < 50; ++i) {
      Example example = sample(length, i);
      EXPECT_FALSE(example.target.empty());
      for (Id id : example.source) ASSERT_TRUE(id >= kMarks && id < source.size()) << id;
      for (Id id : example.target) ASSERT_TRUE(id >= kMarks && id < target.size()) << id;
      ASSERT_EQ(source.encode(source.decode(example.source)), example.source);
      ASSERT_EQ(target.encode(target.decode(example.target)), example.target);
    }
}

TEST_P(AnyTask, EveryWordOccurs) {
  const Vocabulary &source = task_->source_vocabulary(), &target = task_->target_vocabulary();
  std::set<Id> sources, targets;
  std::vector<int64_t> lengths = possible_lengths(*task_);
  for (uint64_t i = 0; i < 20000; ++i) {
    Example example = sample(lengths[i % lengths.size()], i);
    sources.insert(example.source.begin(), example.source.end());
    targets.insert(example.target.begin(), example.target.end());
  }
  EXPECT_EQ(static_cast<int64_t>(sources.size()), source.size() - kMarks);
  EXPECT_EQ(static_cast<int64_t>(targets.size()), target.size() - kMarks);
}

TEST_P(AnyTask, ASampleDependsOnItsArgumentsAlone) {
  std::unique_ptr<Task> again = make_task("{" + GetParam() + "}");
  EXPECT_EQ(task_->source_vocabulary(), again->source_vocabulary());
  EXPECT_EQ(task_->target_vocabulary(), again->target_vocabulary());
  EXPECT_EQ(task_->description(), again->description());
  std::set<std::vector<Id>> different;
  std::vector<int64_t> lengths = possible_lengths(*task_);
  for (uint64_t i = 0; i < 50; ++i) {
    Random random({.seed = 1, .purpose = purpose("contract"), .index = i});
    Example example = sample(lengths.back(), i);
    sample(lengths.front(), i + 1);
    EXPECT_EQ(again->sample(lengths.back(), random), example);
    different.insert(example.source);
  }
  EXPECT_GT(different.size(), 10u);
}

TEST_P(AnyTask, TheTargetFollowsFromTheSource) {
  std::map<std::vector<Id>, std::vector<Id>> targets;
  int repeated = 0;
  for (int64_t length : possible_lengths(*task_))
    for (uint64_t i = 0; i < 2000; ++i) {
      Example example = sample(length, i);
      auto [found, fresh] = targets.emplace(example.source, example.target);
      repeated += !fresh;
      ASSERT_EQ(found->second, example.target) << task_->source_vocabulary().decode(example.source);
      if (length > 12) break;  // never the same again
    }
  // Where the space is small enough the above has been asked indeed.
  if (GetParam().find("symbols: 3") != std::string::npos) {
    EXPECT_GT(repeated, 1000);
  }
}

TEST_P(AnyTask, SplitsHaveNoSourceInCommon) {
  std::map<std::vector<Id>, Split> seen;
  for (Split split : {Split::kTrain, Split::kValid, Split::kTest}) {
    std::vector<int64_t> lengths = lengths_with(*task_, split, 1);
    for (uint64_t i = 0; i < 300; ++i) {
      Random random({.seed = 2, .index = i});
      Example example = draw(*task_, split, 1, lengths[i % lengths.size()], random);
      EXPECT_EQ(seen.emplace(example.source, split).first->second, split);
    }
  }
}

TEST_P(AnyTask, CausesAreOnePlaceOfTheSourceForEachTargetToken) {
  for (int64_t length : possible_lengths(*task_))
    for (uint64_t i = 0; i < 20; ++i) {
      Example example = sample(length, i);
      auto causes = task_->causes(example);
      if (!causes) return;
      ASSERT_EQ(causes->size(), example.target.size());
      for (int64_t position : *causes) ASSERT_TRUE(position >= -1 && position < length);
    }
}

INSTANTIATE_TEST_SUITE_P(Tasks, AnyTask, ::testing::ValuesIn(all_tasks()),
                         [](const ::testing::TestParamInfo<std::string>& info) {
                           std::string name;
                           for (char c : info.param.substr(6))
                             if (std::isalnum(static_cast<unsigned char>(c))) name += c;
                           return name;
                         });

/// The words of any order, of lengths that are multiples of 3 from 4 on.
class Threes final : public Task {
 public:
  const Vocabulary& source_vocabulary() const override { return words_; }
  const Vocabulary& target_vocabulary() const override { return words_; }
  int64_t min_length() const override { return 4; }
  int64_t max_length() const override { return 13; }
  bool has_length(int64_t length) const override { return length % 3 == 0; }
  Example sample(int64_t length, Random& random) const override {
    if (length % 3 != 0) fail("asked for length {}", length);
    Example example;
    for (int64_t i = 0; i < length; ++i)
      example.source.push_back(kMarks + static_cast<Id>(random.below(5)));
    example.target = example.source;
    return example;
  }
  std::string description() const override { return "threes"; }

 private:
  Vocabulary words_{{"a", "b", "c", "d", "e"}};
};

TEST(Lengths, ThatATaskDoesNotHaveAreNeverDrawn) {
  const std::vector<int64_t> threes{6, 9, 12};
  EXPECT_EQ(possible_lengths(Threes()), threes);
  for (Split split : {Split::kTrain, Split::kValid, Split::kTest})
    EXPECT_EQ(lengths_with(Threes(), split, 1), threes);
  EXPECT_EQ(possible_lengths(*make_task("{type: recall, min_pairs: 2, max_pairs: 4}")),
            (std::vector<int64_t>{6, 8, 10}));
  EXPECT_EQ(possible_lengths(*make_task("{type: copy, max_length: 3}")),
            (std::vector<int64_t>{1, 2, 3}));
}

}  // namespace
}  // namespace lookback
