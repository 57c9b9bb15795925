#include "train/tasks/toy_lexicon.h"

#include <cmath>
#include <initializer_list>
#include <set>

namespace lookback {
namespace {

using Words = std::vector<std::string>;

// Nouns that are spelled alike in singular and plural.
const Words kNouns = {"sheep", "deer",     "moose",   "elk",   "bison",   "swine",    "salmon",
                      "trout", "cod",      "tuna",    "carp",  "pike",    "perch",    "herring",
                      "squid", "shrimp",   "grouse",  "quail", "halibut", "mackerel", "haddock",
                      "hake",  "antelope", "buffalo", "fish"};
const Words kAdjectives = {"old",  "young", "big",   "small", "red",   "white", "black", "grey",
                           "wild", "quick", "quiet", "happy", "tired", "brave", "clever"};
// In the past tense English verbs do not show number.
const Words kVerbs = {"saw",    "heard",    "found",   "met",    "liked",  "feared",
                      "chased", "followed", "watched", "passed", "helped", "knew"};

/// Made of syllables, word `index` of a list of 1,800; neighbours look different.
std::string made_up(int64_t index, const char* ending) {
  static const Words kOnsets = {"b",  "br", "cl", "d",  "dr", "fl", "g",  "gr", "h",  "j",
                                "k",  "l",  "m",  "n",  "p",  "pl", "r",  "sk", "sl", "sn",
                                "st", "sw", "t",  "tr", "v",  "w",  "bl", "cr", "f",  "gl"};
  static const Words kVowels = {"a", "e", "i", "o", "u", "oo"};
  static const Words kCodas = {"b", "ck", "d", "g", "ll", "m", "n", "p", "rk", "t"};
  const int64_t kinds = 30 * 6 * 10;
  auto at = [](const Words& list, int64_t i) { return list[static_cast<size_t>(i) % list.size()]; };
  int64_t i = index % kinds * 1031 % kinds;  // 1031 is prime: each once
  std::string word = at(kOnsets, i) + at(kVowels, i / 30) + at(kCodas, i / 180);
  if (index >= kinds) word += made_up(index / kinds - 1, "");
  return word + ending;
}

/// `count` words: the list's, then made-up ones that are none of `used`, to which all are added.
void add(const Words& list, int64_t count, const char* ending, std::set<std::string>& used,
         Words& words) {
  int64_t made = 0;
  for (int64_t i = 0; i < count; ++i) {
    std::string word = i < static_cast<int64_t>(list.size()) ? list[static_cast<size_t>(i)]
                                                             : made_up(made++, ending);
    while (!used.insert(word).second) word = made_up(made++, ending);
    words.push_back(word);
  }
}

/// Stem `index` of the invented language: consonant, vowel, consonant, and more syllables after the
/// first 720. All stems of a lexicon have one length, so words of different stems differ.
std::string stem(int64_t index, int64_t stems) {
  static const std::string kConsonants = "klmnprstvbdg", kVowels = "aeiou";
  int64_t kinds = 720;
  while (kinds < stems) kinds *= 60;
  int64_t i = index * 1009 % kinds;  // 1009 is prime: each once
  std::string text;
  auto consonant = [&] {
    text += kConsonants[static_cast<size_t>(i % 12)];
    i /= 12;
  };
  for (int64_t left = kinds; left > 12; left /= 60) {
    consonant();
    text += kVowels[static_cast<size_t>(i % 5)];
    i /= 5;
  }
  consonant();
  return text;
}

}  // namespace

ToyLexicon::ToyLexicon(int64_t words) {
  int64_t open = words - kToyDeterminers - kToyConjunctions;
  nouns = std::lround(static_cast<double>(open) * 25 / 52);
  adjectives = std::lround(static_cast<double>(open) * 15 / 52);
  verbs = open - nouns - adjectives;

  english = {"this", "that", "these", "those", "and", "but", "while", "because"};
  std::set<std::string> used(english.begin(), english.end());
  add(kNouns, nouns, "", used, english);
  add(kAdjectives, adjectives, "y", used, english);
  add(kVerbs, verbs, "ed", used, english);

  int64_t stems = 2 + kToyConjunctions + open, next = 0;
  auto forms = [&](std::initializer_list<const char*> endings) {
    std::string text = stem(next++, stems);
    for (const char* ending : endings) invented.push_back(text + ending);
  };
  for (int i = 0; i < 2; ++i) forms({"o", "a", "i", "e"});
  for (int i = 0; i < kToyConjunctions; ++i) forms({""});
  for (int64_t i = 0; i < nouns; ++i) forms({i % 2 == 0 ? "an" : "el"});
  for (int64_t i = 0; i < adjectives; ++i) forms({"o", "a", "i", "e"});
  for (int64_t i = 0; i < verbs; ++i) forms({"at", "ant"});
}

}  // namespace lookback
