// The rule of each task, against rules written here a second time.

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <map>
#include <set>

#include "support/tasks.h"
#include "support/text_folder.h"

namespace lookback {
namespace {

using testing::make_task;
using testing::words_of;

using Words = std::vector<std::string>;

/// What a task's target should be, word by word.
using Rule = std::function<Words(const Words&)>;

Words sorted(Words words) {
  std::sort(words.begin(), words.end());
  return words;
}
Words token_by_number(const Words& words) {
  return {words[static_cast<size_t>(std::stoi(words.back())) - 1]};
}
Words value_of_key(const Words& words) {
  for (size_t i = 0; i + 2 < words.size(); i += 2)
    if (words[i] == words.back()) return {words[i + 1]};
  return {};
}
Words verb_of_third(const Words& words) {
  const std::map<std::string, std::string> verbs = {
      {"dog", "barks"},  {"cat", "purrs"},   {"bird", "sings"},  {"horse", "neighs"},
      {"cow", "moos"},   {"duck", "quacks"}, {"frog", "croaks"}, {"bee", "buzzes"},
      {"lion", "roars"}, {"wolf", "howls"}};
  return {verbs.at(words[2])};
}

struct Ruled {
  std::string task;
  Rule rule;
  std::function<bool(size_t place, size_t length)> free;  ///< no word that says which place
};

const std::vector<Ruled>& rules() {
  auto any = [](size_t, size_t) { return true; };
  auto not_last = [](size_t i, size_t n) { return i + 1 < n; };
  auto a_value = [](size_t i, size_t n) { return i % 2 == 1 && i + 2 < n; };
  static const std::vector<Ruled> all = {
      {"copy", [](const Words& words) { return words; }, any},
      {"reverse", [](const Words& words) { return Words(words.rbegin(), words.rend()); }, any},
      {"sort", sorted, any},
      {"copy_token", token_by_number, not_last},
      {"recall", value_of_key, a_value},
      {"agreement", verb_of_third, any}};
  return all;
}

TEST(TaskRules, HoldForEverySample) {
  for (const Ruled& ruled : rules()) {
    auto task = make_task("type: " + ruled.task);
    for (int64_t length : possible_lengths(*task))
      for (uint64_t i = 0; i < 50; ++i) {
        Random random({.seed = 3, .index = i});
        auto [source, target] = testing::as_text(*task, task->sample(length, random));
        ASSERT_EQ(words_of(target), ruled.rule(words_of(source))) << ruled.task << ": " << source;
      }
  }
}

/// Words of a source that may stand in one another's place: those that stood there in other samples.
std::vector<Words> seen_at(const Task& task, int64_t length) {
  std::vector<Words> words(static_cast<size_t>(length));
  for (uint64_t i = 0; i < 50; ++i) {
    Random random({.seed = 4, .index = i});
    Words source = words_of(testing::as_text(task, task.sample(length, random)).source);
    for (size_t j = 0; j < source.size(); ++j) words[j].push_back(source[j]);
  }
  return words;
}

TEST(Causes, AnotherWordThereChangesTheTargetTokenAndAnywhereElseItDoesNot) {
  std::set<std::string> asked;
  for (const Ruled& ruled : rules()) {
    auto task = make_task("type: " + ruled.task);
    for (int64_t length : possible_lengths(*task)) {
      std::vector<Words> others = seen_at(*task, length);
      Random random({.seed = 5});
      Example example = task->sample(length, random);
      auto causes = task->causes(example);
      if (!causes) break;
      asked.insert(ruled.task);
      const Words source = words_of(testing::as_text(*task, example).source);
      const Words target = ruled.rule(source);
      for (size_t j = 0; j < source.size(); ++j) {
        if (!ruled.free(j, source.size())) continue;
        for (const std::string& other : others[j]) {
          if (other == source[j]) continue;
          Words changed = source;
          changed[j] = other;
          Words after = ruled.rule(changed);
          for (size_t t = 0; t < target.size(); ++t)
            ASSERT_EQ(after[t] != target[t], (*causes)[t] == static_cast<int64_t>(j))
                << ruled.task << " place " << j << " target " << t;
        }
      }
    }
  }
  EXPECT_EQ(asked, (std::set<std::string>{"copy", "reverse", "copy_token", "recall", "agreement"}));
}

TEST(TaskRules, KeysOfRecallAreDifferentAndEachIsAskedFor) {
  auto task = make_task("{type: recall, keys: 4, max_pairs: 4}");
  std::set<int64_t> asked;
  std::map<size_t, std::set<Id>> keys_at;
  for (uint64_t i = 0; i < 100; ++i) {
    Random random({.seed = 3, .index = i});
    Example example = task->sample(10, random);
    for (size_t j = 0; j < 8; j += 2) keys_at[j].insert(example.source[j]);
    std::set<Id> keys;
    for (size_t j = 0; j < 8; j += 2) keys.insert(example.source[j]);
    EXPECT_EQ(keys.size(), 4u);
    EXPECT_EQ(task->source_vocabulary().token(example.source[8]), "?");
    asked.insert(task->causes(example)->front());
  }
  EXPECT_EQ(asked, (std::set<int64_t>{1, 3, 5, 7}));
  for (const auto& [place, keys] : keys_at) EXPECT_EQ(keys.size(), 4u) << place;
}

TEST(TaskRules, CopyTokenAsksForEachPlace) {
  auto task = make_task("{type: copy_token, symbols: 40}");
  std::set<int64_t> asked;
  for (uint64_t i = 0; i < 200; ++i) {
    Random random({.seed = 3, .index = i});
    asked.insert(task->causes(task->sample(5, random))->front());
  }
  EXPECT_EQ(asked, (std::set<int64_t>{0, 1, 2, 3}));
  EXPECT_EQ(task->source_vocabulary().token(kMarks), "s0");  // no number, which 0 would be
}

TEST(TaskRules, SortedNumbersAreSortedAsNumbers) {
  auto task = make_task("{type: sort, symbols: 100}");
  Random random({.seed = 3});
  Words target = words_of(testing::as_text(*task, task->sample(20, random)).target);
  for (size_t i = 1; i < target.size(); ++i)
    EXPECT_LE(std::stoi(target[i - 1]), std::stoi(target[i]));
}

/// A date read from words: year, month, day and what weekday it is said to be, -1 for none.
struct ReadDate {
  int year = 0, month = 0, day = 0, weekday = -1;
  std::string ending;
};

ReadDate read_date(const Words& words) {
  const Words months = {"jan", "feb", "mar", "apr", "may", "jun",
                        "jul", "aug", "sep", "oct", "nov", "dec"};
  const Words weekdays = {"sunday",   "monday", "tuesday", "wednesday",
                          "thursday", "friday", "saturday"};
  ReadDate date;
  std::string year;
  for (size_t i = words.size() - 4; i < words.size(); ++i) year += words[i];
  date.year = std::stoi(year);
  for (size_t i = 0; i + 4 < words.size(); ++i) {
    const std::string& word = words[i];
    auto month = std::find(months.begin(), months.end(), word.substr(0, 3));
    auto weekday = std::find(weekdays.begin(), weekdays.end(), word);
    if (weekday != weekdays.end())
      date.weekday = static_cast<int>(weekday - weekdays.begin());
    else if (month != months.end())
      date.month = static_cast<int>(month - months.begin()) + 1;
    else if (std::isdigit(static_cast<unsigned char>(word[0])))
      date.day = 10 * date.day + word[0] - '0';
    else if (word.size() == 2 && word != "of")
      date.ending = word;
  }
  return date;
}

TEST(Dates, AreReadBackAndTheirWeekdaysAndEndingsAreRight) {
  auto task = make_task("{type: dates}");
  std::map<int, int> months, weekdays;
  std::set<int> days, years;
  for (int64_t length : possible_lengths(*task))
    for (uint64_t i = 0; i < 1000; ++i) {
      Random random({.seed = 3, .index = i});
      auto [source, target] = testing::as_text(*task, task->sample(length, random));
      ReadDate date = read_date(words_of(source));
      std::string iso;
      for (char c : target)
        if (c != ' ') iso += c;
      ASSERT_EQ(iso, format("{:04}-{:02}-{:02}", date.year, date.month, date.day)) << source;
      std::chrono::year_month_day day{std::chrono::year(date.year),
                                      std::chrono::month(static_cast<unsigned>(date.month)),
                                      std::chrono::day(static_cast<unsigned>(date.day))};
      ASSERT_TRUE(day.ok()) << source;
      if (date.weekday >= 0) {
        ASSERT_EQ(std::chrono::weekday(std::chrono::sys_days(day)).c_encoding(),
                  static_cast<unsigned>(date.weekday))
            << source;
        ++weekdays[date.weekday];
      }
      if (!date.ending.empty()) {
        const std::map<int, std::string> special = {{1, "st"},  {2, "nd"},  {3, "rd"}, {21, "st"},
                                                    {22, "nd"}, {23, "rd"}, {31, "st"}};
        auto found = special.find(date.day);
        ASSERT_EQ(date.ending, found == special.end() ? "th" : found->second) << source;
      }
      ++months[date.month];
      days.insert(date.day);
      years.insert(date.year);
    }
  EXPECT_EQ(months.size(), 12u);
  EXPECT_EQ(weekdays.size(), 7u);
  EXPECT_EQ(days.size(), 31u);
  EXPECT_EQ(*years.begin(), 1900);
  EXPECT_EQ(*years.rbegin(), 2099);
}

TEST(Dates, TheTwentyNinthOfFebruaryIsThereInLeapYearsAlone) {
  auto has_29 = [](const std::string& years) {
    auto task = make_task("{type: dates, " + years + "}");
    for (uint64_t i = 0; i < 4000; ++i) {
      Random random({.seed = 3, .index = i});
      if (testing::as_text(*task, task->sample(7, random)).target.ends_with("0 2 - 2 9"))
        return true;
    }
    return false;
  };
  EXPECT_TRUE(has_29("first_year: 2000, last_year: 2000"));
  EXPECT_FALSE(has_29("first_year: 1900, last_year: 1900"));
}

TEST(TaskRules, OptionsThatMakeNoSenseAreRefusedInOneLine) {
  auto error = [](const std::string& yaml) {
    return user_error([&] { make_task("{type: " + yaml + "}"); });
  };
  EXPECT_EQ(error("copy_token, min_length: 1"),
            "test.yaml:1: min_length: must be at least 2, but is 1");
  EXPECT_EQ(error("recall, keys: 5"),
            "test.yaml:1: max_pairs: 10 pairs need as many different keys, and keys is 5");
  EXPECT_EQ(error("recall, min_pairs: 4, max_pairs: 3"),
            "test.yaml:1: max_pairs: 3 is below min_pairs, which is 4");
  EXPECT_EQ(error("agreement, max_length: 8"),
            "test.yaml:1: max_length: 8 is below min_length, which is 38");
  EXPECT_EQ(error("agreement, min_length: 2"),
            "test.yaml:1: min_length: must be at least 3, but is 2");
  EXPECT_EQ(error("dates, first_year: 2001, last_year: 2000"),
            "test.yaml:1: last_year: 2000 is before first_year, which is 2001");
  EXPECT_NE(error("dates, first_year: 99").find("between 1000 and 9999"), std::string::npos);
  EXPECT_NE(error("toy_translation, words: 19").find("words"), std::string::npos);
  EXPECT_NE(error("toy_translation, min_length: 4").find("min_length"), std::string::npos);
  EXPECT_NE(error("toy_translation, symbols: 4").find("unknown key"), std::string::npos);
  EXPECT_NE(error("sort, symbols: 1").find("symbols"), std::string::npos);
  for (const char* task : {"copy_token", "agreement", "toy_translation", "sort"})
    EXPECT_NE(error(std::string(task) + ", max_length: 1e9").find("max_length"), std::string::npos);
}

TEST(TaskRules, AnAgreementWithOneDistractorHasTooFewSources) {
  // Two sources.
  auto task =
      make_task("{type: agreement, classes: 2, distractors: 1, min_length: 4, max_length: 4}");
  int refused = 0;
  for (uint64_t seed = 0; seed < 20; ++seed)
    for (Split split : {Split::kValid, Split::kTest}) {
      try {
        lengths_with(*task, split, seed);
      } catch (const UserError&) {
        ++refused;
      }
    }
  EXPECT_GT(refused, 20);
}

}  // namespace
}  // namespace lookback
