#include "train/vocabulary.h"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "support/text_folder.h"

namespace lookback {
namespace {

Vocabulary abc() {
  return Vocabulary({"a", "b", "c"});
}

TEST(Vocabulary, MarksComeFirst) {
  Vocabulary words = abc();
  EXPECT_EQ(words.size(), 7);
  EXPECT_EQ(words.token(kPad), "<pad>");
  EXPECT_EQ(words.token(kUnknown), "<unk>");
  EXPECT_EQ(words.token(kBegin), "<bos>");
  EXPECT_EQ(words.token(kEnd), "<eos>");
  EXPECT_EQ(words.token(kMarks), "a");
  EXPECT_EQ(words.id("c"), kMarks + 2);
  EXPECT_EQ(words.id("d"), kUnknown);
}

TEST(Vocabulary, FrequentWordsComeFirstAndTiesInTheOrderOfBytes) {
  WordCounts counts = {{"b", 2}, {"a", 2}, {"rare", 1}, {"z", 5}, {"ä", 2}};
  EXPECT_EQ(Vocabulary::from_counts(counts, {.min_frequency = 2}, "text"),
            Vocabulary({"z", "a", "b", "ä"}));
  EXPECT_EQ(Vocabulary::from_counts(counts, {.min_frequency = 1}, "text"),
            Vocabulary({"z", "a", "b", "ä", "rare"}));
  EXPECT_EQ(Vocabulary::from_counts(counts, {.min_frequency = 1, .max_size = 2}, "text"),
            Vocabulary({"z", "a"}));
}

TEST(Vocabulary, WordsSpelledLikeMarksAreUnknown) {
  WordCounts counts = {{"<pad>", 9}, {"<unk>", 9}, {"<bos>", 9}, {"<eos>", 9}, {"a", 1}};
  Vocabulary words = Vocabulary::from_counts(counts, {}, "text");
  EXPECT_EQ(words, Vocabulary({"a"}));
  EXPECT_EQ(words.encode("<pad> <bos> a <eos> <unk>"),
            (std::vector<Id>{kUnknown, kUnknown, kMarks, kUnknown, kUnknown}));
}

TEST(Vocabulary, LinesAreCutAtSpacesAndTabs) {
  EXPECT_EQ(abc().encode(" \ta  c\tb x "),
            (std::vector<Id>{kMarks, kMarks + 2, kMarks + 1, kUnknown}));
  EXPECT_TRUE(abc().encode("").empty());
  EXPECT_TRUE(abc().encode(" \t ").empty());
  // A no-break space is part of a word.
  EXPECT_EQ(split_words("a\u00a0b c").size(), 2u);
}

TEST(Vocabulary, DecodesWithOneBlankBetweenWordsAndWithoutMarks) {
  EXPECT_EQ(abc().decode({kBegin, kMarks, kUnknown, kMarks + 1, kEnd, kPad, kPad}), "a <unk> b");
  EXPECT_EQ(abc().decode({}), "");
  EXPECT_EQ(abc().decode({kEnd}), "");
  EXPECT_EQ(abc().decode(abc().encode("c b a")), "c b a");
  EXPECT_THROW(abc().decode({7}), Error);
  EXPECT_THROW(abc().token(-1), Error);
}

TEST(Vocabulary, AnEmptyOneSaysWhatToChange) {
  WordCounts counts = {{"a", 1}, {"b", 2}, {"<unk>", 50}};
  std::string text =
      user_error([&] { Vocabulary::from_counts(counts, {.min_frequency = 3}, "train.de"); });
  EXPECT_EQ(text,
            "train.de: the vocabulary is empty: no word occurs 3 times or more (the most frequent "
            "occurs 2); lower min_frequency or give more text");
}

TEST(Vocabulary, RefusesWordsThatCannotBeTokens) {
  EXPECT_THROW(Vocabulary({"a", "a"}), Error);
  EXPECT_THROW(Vocabulary({""}), Error);
  EXPECT_THROW(Vocabulary({"a b"}), Error);
  EXPECT_THROW(Vocabulary({"a\nb"}), Error);
  EXPECT_THROW(Vocabulary({"<eos>"}), Error);
}

TEST(Vocabulary, ComesBackFromJson) {
  Vocabulary words({"a", "\"", "\\", "Straße", "雪", "\x01"});
  EXPECT_EQ(Vocabulary::from_json(words.to_json(), "model"), words);
  EXPECT_EQ(abc().to_json(), R"(["<pad>","<unk>","<bos>","<eos>","a","b","c"])");
}

TEST(Vocabulary, RefusesJsonThatIsNoVocabulary) {
  auto error = [](const char* json) {
    return user_error([&] { Vocabulary::from_json(json, "model.safetensors: target"); });
  };
  for (const char* json : {"", "["}) {
    EXPECT_EQ(error(json).find("model.safetensors: target: bad JSON"), 0u) << json;
  }
  for (const char* json : {"{}", "[1, 2]", "\"a\""}) {
    EXPECT_EQ(error(json),
              "model.safetensors: target: no vocabulary; expected a JSON list of tokens")
        << json;
  }
  for (const char* json : {"[]", R"(["<pad>","<unk>","<bos>"])", R"(["a","b","c","d"])",
                           R"(["<unk>","<pad>","<bos>","<eos>"])"}) {
    EXPECT_EQ(error(json),
              "model.safetensors: target: no vocabulary of this program; it must begin with <pad> "
              "<unk> <bos> <eos>")
        << json;
  }
  EXPECT_EQ(error(R"(["<pad>","<unk>","<bos>","<eos>","a","a"])"),
            "model.safetensors: target: [vocabulary] the word \"a\" occurs twice");
}

TEST(Vocabulary, IsSavedOneTokenALine) {
  TextFolder folder;
  abc().save(folder.path("words.txt"));
  std::stringstream text;
  text << std::ifstream(folder.path("words.txt")).rdbuf();
  EXPECT_EQ(text.str(), "<pad>\n<unk>\n<bos>\n<eos>\na\nb\nc\n");
}

}  // namespace
}  // namespace lookback
