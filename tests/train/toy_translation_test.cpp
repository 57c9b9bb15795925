// Reads translations back by the words alone, with a parser that knows the two grammars and nothing of
// how sentences are made.

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "support/tasks.h"

namespace lookback {
namespace {

using testing::make_task;
using testing::words_of;
using Words = std::vector<std::string>;

/// A noun phrase, whichever side it was read from.
struct Phrase {
  std::string determiner, noun;
  Words adjectives;
  std::string form;  ///< target: the ending that determiner and adjectives share
};
struct Clause {
  Phrase subject, object;
  std::string verb;
};
struct Sentence {
  std::vector<Clause> clauses;
  Words conjunctions;
};

const std::set<std::string> kDeterminers = {"this", "that", "these", "those"};
const std::set<std::string> kConjunctions = {"and", "but", "while", "because"};

/// Words by their class: of the English side by place in the vocabulary, as the task says.
struct EnglishReader {
  std::set<std::string> nouns, adjectives, verbs;
  Words words;
  size_t at = 0;

  std::string next() { return at < words.size() ? words[at++] : "(end)"; }
  Phrase phrase() {
    Phrase p;
    p.determiner = next();
    EXPECT_TRUE(kDeterminers.count(p.determiner)) << p.determiner;
    while (at < words.size() && adjectives.count(words[at])) p.adjectives.push_back(next());
    p.noun = next();
    EXPECT_TRUE(nouns.count(p.noun)) << p.noun;
    EXPECT_EQ(std::set<std::string>(p.adjectives.begin(), p.adjectives.end()).size(),
              p.adjectives.size());
    EXPECT_LE(p.adjectives.size(), 3u);
    return p;
  }
  Clause clause() {
    Clause c;
    c.subject = phrase();
    c.verb = next();
    EXPECT_TRUE(verbs.count(c.verb)) << c.verb;
    c.object = phrase();
    return c;
  }
  Sentence sentence() {
    Sentence s;
    s.clauses.push_back(clause());
    while (at < words.size() && !::testing::Test::HasFailure()) {
      s.conjunctions.push_back(next());
      EXPECT_TRUE(kConjunctions.count(s.conjunctions.back())) << s.conjunctions.back();
      s.clauses.push_back(clause());
    }
    return s;
  }
};

/// Of the other side by endings: -an, -el nouns; -at, -ant verbs; vowels what agrees; else
/// conjunctions.
struct InventedReader {
  Words words;
  size_t at = 0;

  std::string next() { return at < words.size() ? words[at++] : "(end)"; }
  bool noun_next() const {
    return at < words.size() && (words[at].ends_with("an") || words[at].ends_with("el"));
  }
  static bool agrees(const std::string& word) {
    return std::string("oaie").find(word.back()) != std::string::npos;
  }
  static std::string stem(const std::string& word) { return word.substr(0, word.size() - 1); }

  Phrase phrase() {
    Phrase p;
    std::string determiner = next();
    EXPECT_TRUE(agrees(determiner)) << determiner;
    p.form = determiner.back();
    p.determiner = stem(determiner);
    EXPECT_TRUE(noun_next());
    p.noun = next();
    // An adjective is what agrees and does not open the next phrase.
    while (at + 1 < words.size() && agrees(words[at]) &&
           !(words[at + 1].ends_with("an") || words[at + 1].ends_with("el"))) {
      std::string adjective = next();
      EXPECT_EQ(std::string(1, adjective.back()), p.form) << adjective << " of " << p.noun;
      p.adjectives.push_back(stem(adjective));
    }
    return p;
  }
  Clause clause() {
    Clause c;
    c.subject = phrase();
    c.object = phrase();
    c.verb = next();
    bool plural = c.subject.form == "i" || c.subject.form == "e";
    EXPECT_TRUE(c.verb.ends_with(plural ? "ant" : "at")) << c.verb;
    c.verb = c.verb.substr(0, 3);
    return c;
  }
  Sentence sentence() {
    Sentence s;
    s.clauses.push_back(clause());
    while (at < words.size() && !::testing::Test::HasFailure()) {
      s.conjunctions.push_back(next());
      s.clauses.push_back(clause());
    }
    return s;
  }
};

/// One word of one side always goes with one of the other, and back.
struct Dictionary {
  std::map<std::string, std::string> there, back;
  void add(const std::string& english, const std::string& invented) {
    EXPECT_EQ(there.emplace(english, invented).first->second, invented) << english;
    EXPECT_EQ(back.emplace(invented, english).first->second, english) << invented;
  }
};

void compare(const Phrase& english, const Phrase& invented, Dictionary& words,
             std::map<std::string, std::string>& determiners) {
  words.add(english.noun, invented.noun);
  ASSERT_EQ(english.adjectives.size(), invented.adjectives.size());
  for (size_t i = 0; i < english.adjectives.size(); ++i)
    words.add(english.adjectives[i], invented.adjectives[i]);
  bool plural = english.determiner == "these" || english.determiner == "those";
  bool near = english.determiner == "this" || english.determiner == "these";
  EXPECT_EQ(invented.form,
            invented.noun.ends_with("an") ? (plural ? "i" : "o") : (plural ? "e" : "a"));
  EXPECT_EQ(determiners.emplace(near ? "near" : "far", invented.determiner).first->second,
            invented.determiner);
}

TEST(ToyTranslation, EveryTranslationIsReadBackWordByWord) {
  auto task = make_task("{type: toy_translation, max_length: 60}");
  const Vocabulary& vocabulary = task->source_vocabulary();
  EXPECT_EQ(vocabulary.size(), kMarks + 60);
  EnglishReader classes;
  for (Id i = 0; i < 52; ++i)
    (i < 25   ? classes.nouns
     : i < 40 ? classes.adjectives
              : classes.verbs)
        .insert(vocabulary.token(kMarks + 8 + i));
  Dictionary words;
  std::map<std::string, std::string> determiners;
  std::map<int64_t, std::set<size_t>> clauses;
  for (int64_t length : possible_lengths(*task))
    for (uint64_t i = 0; i < 100; ++i) {
      Random random({.seed = 3, .index = i});
      auto [source, target] = testing::as_text(*task, task->sample(length, random));
      SCOPED_TRACE(source + "  ->  " + target);
      EnglishReader reader = classes;
      reader.words = words_of(source);
      Sentence english = reader.sentence(), invented = InventedReader{words_of(target)}.sentence();
      ASSERT_EQ(english.clauses.size(), invented.clauses.size());
      ASSERT_EQ(words_of(source).size(), words_of(target).size());
      clauses[length].insert(english.clauses.size());
      for (size_t c = 0; c < english.clauses.size(); ++c) {
        compare(english.clauses[c].subject, invented.clauses[c].subject, words, determiners);
        compare(english.clauses[c].object, invented.clauses[c].object, words, determiners);
        words.add(english.clauses[c].verb, invented.clauses[c].verb);
        if (c > 0) words.add(english.conjunctions[c - 1], invented.conjunctions[c - 1]);
      }
      ASSERT_FALSE(HasFailure());
    }
  EXPECT_EQ(words.there.size(), 56u);  // every word but the determiners
  EXPECT_EQ(determiners.size(), 2u);
  EXPECT_NE(determiners["near"], determiners["far"]);
  // Short and long clauses: all the numbers of clauses that fit.
  EXPECT_EQ(clauses[5], (std::set<size_t>{1}));
  EXPECT_EQ(clauses[11], (std::set<size_t>{1, 2}));
  EXPECT_EQ(clauses[23], (std::set<size_t>{2, 3, 4}));
  EXPECT_EQ(clauses[40], (std::set<size_t>{4, 5, 6}));
}

TEST(ToyTranslation, SaysWhatAReaderOfTheGrammarWouldSay) {
  auto task = make_task("{type: toy_translation, words: 20}");  // few sentences: all are met
  std::map<std::string, std::string> seen;
  for (uint64_t i = 0; i < 30000; ++i) {
    Random random({.seed = 3, .index = i});
    auto [source, target] = testing::as_text(*task, task->sample(5, random));
    seen[source] = target;
  }
  EXPECT_EQ(seen.size(), 4u * 6 * 3 * 4 * 6);
  EXPECT_EQ(seen["this sheep saw this deer"], "kako supan kaka tobel nekat");
  EXPECT_EQ(seen["these sheep saw that deer"], "kaki supan lupa tobel nekant");
  EXPECT_EQ(seen["those deer saw this sheep"], "lupe tobel kako supan nekant");
  EXPECT_EQ(seen["that deer saw those deer"], "lupa tobel lupe tobel nekat");
}

TEST(ToyTranslation, OpenClassesGrowInProportion) {
  for (auto [words, target] : {std::pair{60, 8 + 4 + 25 + 15 * 4 + 12 * 2},
                               std::pair{200, 8 + 4 + 92 + 55 * 4 + 45 * 2}}) {
    auto task = make_task(format("{{type: toy_translation, words: {}}}", words));
    EXPECT_EQ(task->source_vocabulary().size(), kMarks + words);
    EXPECT_EQ(task->target_vocabulary().size(), kMarks + target);
  }
}

}  // namespace
}  // namespace lookback
