#include "train/corpus.h"

#include <gtest/gtest.h>

#include "support/text_folder.h"

namespace lookback {
namespace {

CorpusOptions read_options(const std::string& yaml) {
  Config source = Config::from_text(yaml, "test.yaml"), resolved;
  Section section(source, resolved);
  CorpusOptions options;
  read(section, options);
  refuse_unknown(source, resolved);
  return options;
}

const std::string kTrainAndValid =
    "train: {source: /a.de, target: /a.en}\n"
    "valid: {source: /b.de, target: /b.en}\n";

TEST(CorpusOptions, HaveTheirDefaults) {
  CorpusOptions options = read_options(kTrainAndValid);
  EXPECT_EQ(options.train.source, "/a.de");
  EXPECT_EQ(options.train.target, "/a.en");
  EXPECT_EQ(options.valid.source, "/b.de");
  EXPECT_EQ(options.valid.target, "/b.en");
  EXPECT_FALSE(options.test.given());
  EXPECT_EQ(options.level, "word");
  EXPECT_EQ(options.min_frequency, 2);
  EXPECT_EQ(options.max_vocabulary, 0);
  EXPECT_EQ(options.max_length, 100);
  EXPECT_FALSE(options.joint_vocabulary);
  EXPECT_TRUE(read_options(kTrainAndValid + "test: {source: /c, target: /d}").test.given());
}

TEST(CorpusOptions, RefuseWhatIsMissingOrUnknown) {
  auto error = [](const std::string& yaml) { return user_error([&] { read_options(yaml); }); };
  EXPECT_NE(error("valid: {source: a, target: b}").find("train.source: missing; name a text file"),
            std::string::npos);
  EXPECT_EQ(error("train: {source: a}"),
            "test.yaml:1: train.target: missing; name a text file, one sentence a line");
  EXPECT_NE(error("train: {source: a, target: b}").find("valid.source: missing"),
            std::string::npos);
  EXPECT_NE(error(kTrainAndValid + "test: {source: a}").find("test.target: missing"),
            std::string::npos);
  EXPECT_NE(error(kTrainAndValid + "level: syllable").find("level"), std::string::npos);
  EXPECT_NE(error(kTrainAndValid + "min_frequency: 0").find("min_frequency"), std::string::npos);
  EXPECT_NE(error(kTrainAndValid + "max_length: 0").find("max_length"), std::string::npos);
}

TEST(Corpus, KeepsEveryLineOfHeldOutText) {
  TextFolder folder;
  TextPair files = {folder.write("s", "a b\n\nc\n"), folder.write("t", "A B C\nX\n\n")};
  ParallelText text = read_text(files);
  EXPECT_EQ(text.source, (std::vector<std::string>{"a b", "", "c"}));
  EXPECT_EQ(text.target, (std::vector<std::string>{"A B C", "X", ""}));
}

TEST(Corpus, DropsAndCountsTrainingPairsThatAreLongOrHaveAnEmptySide) {
  TextFolder folder;
  TextPair files = {folder.write("s", "a b c\na b c d\na\n\na\n \t \na b\n"),
                    folder.write("t", "A B C\nA\nA B C D\nA\n\nA\nB\n")};
  ParallelText text = read_training_text(files, 3);
  EXPECT_EQ(text.source, (std::vector<std::string>{"a b c", "a b"}));
  EXPECT_EQ(text.target, (std::vector<std::string>{"A B C", "B"}));
  EXPECT_EQ(text.dropped_long, 2);
  EXPECT_EQ(text.dropped_empty, 3);
  EXPECT_EQ(text.lines, (std::vector<int64_t>{1, 7})) << "their lines in the files";
}

TEST(Corpus, RefusesTextOfWhichNothingIsLeft) {
  TextFolder folder;
  TextPair files = {folder.write("s", "a b c\n\n"), folder.write("t", "A\nB\n")};
  EXPECT_EQ(
      user_error([&] { read_training_text(files, 2); }),
      format("{}, {}: no training pair is left: 1 with a side of more than 2 words, 1 with an "
             "empty side; raise data.corpus.max_length or give other text",
             files.source, files.target));
}

TEST(Corpus, RefusesUnequalNumbersOfLines) {
  TextFolder folder;
  TextPair files = {folder.write("s", "a\nb\nc\n"), folder.write("t", "A\nB\n")};
  EXPECT_EQ(user_error([&] { read_text(files); }),
            format("{} has 3 lines but {} has 2; parallel text needs as many lines on both sides",
                   files.source, files.target));
}

TEST(Corpus, RefusesFilesThatAreMissingOrEmpty) {
  TextFolder folder;
  std::string good = folder.write("s", "a\n"), empty = folder.write("empty", "");
  std::string error = user_error([&] { read_text({good, empty}); });
  EXPECT_EQ(error, empty + ": the file is empty; expected one sentence a line");
  error = user_error([&] { read_text({folder.path("none"), good}); });
  EXPECT_EQ(error.find(folder.path("none")), 0u) << error;
}

TEST(Corpus, RefusesInvalidUtf8WithItsPlace) {
  TextFolder folder;
  std::string good = folder.write("s", "a\nb\n"), bad = folder.write("t",
                                                                     "Stra\xC3\x9F"
                                                                     "e\nok \xFF.\n");
  std::string error = user_error([&] { read_text({good, bad}); });
  EXPECT_EQ(error.find(bad + ":2:byte 4"), 0u) << error;
}

TEST(Corpus, BuildsVocabulariesByFrequencyAndEncodes) {
  ParallelText text;
  text.source = {"b a b", "a\tc <eos>", "<eos> b"};
  text.target = {"X", "X Y", "Y"};
  CorpusOptions options;
  const TextPair files{"s.de", "t.en"};
  auto [source, target] = build_vocabularies(text, files, options);
  EXPECT_EQ(source, Vocabulary({"b", "a"}));
  EXPECT_EQ(target, Vocabulary({"X", "Y"}));
  std::vector<Example> examples = encode(text, source, target);
  ASSERT_EQ(examples.size(), 3u);
  EXPECT_EQ(examples[1].source, (std::vector<Id>{kMarks + 1, kUnknown, kUnknown}));
  EXPECT_EQ(examples[1].target, (std::vector<Id>{kMarks, kMarks + 1}));

  options.max_vocabulary = 1;
  EXPECT_EQ(build_vocabularies(text, files, options).source, Vocabulary({"b"}));
  options.min_frequency = 3;
  EXPECT_EQ(user_error([&] { build_vocabularies(text, files, options); }).find("t.en: "), 0u);
  options.min_frequency = 4;
  EXPECT_EQ(user_error([&] { build_vocabularies(text, files, options); }).find("s.de: "), 0u);
}

TEST(Corpus, AJointVocabularyCountsBothSidesTogether) {
  ParallelText text;
  text.source = {"b a b c", "b shared"};
  text.target = {"X shared", "X Y"};
  CorpusOptions options;
  options.joint_vocabulary = true;
  const TextPair files{"s.de", "t.en"};
  auto [source, target] = build_vocabularies(text, files, options);
  EXPECT_EQ(source, Vocabulary({"b", "X", "shared"}));  // by frequency, then by bytes
  EXPECT_EQ(target, source);
  options.max_vocabulary = 2;
  EXPECT_EQ(build_vocabularies(text, files, options).target, Vocabulary({"b", "X"}));
  options.min_frequency = 9;
  EXPECT_EQ(user_error([&] { build_vocabularies(text, files, options); }).find("s.de, t.en: "), 0u);
}

}  // namespace
}  // namespace lookback
