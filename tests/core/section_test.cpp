#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>

#include "core/config.h"
#include "core/numbers.h"

namespace lookback {
namespace {

struct Options {
  int64_t whole = 3;
  uint64_t seed = 7;
  double number = 0.5;
  bool flag = false;
  std::string text = "default";
  std::string choice = "gru";
  int64_t automatic = -1;
  std::string path;
  std::vector<double> numbers = {0.9, 0.999};
  std::vector<std::string> texts = {"a"};
};

void read(Section& s, Options& o) {
  s.read("whole", o.whole, at_least(1));
  s.read("seed", o.seed);
  s.read("number", o.number, from_below(0, 1));
  s.read("flag", o.flag);
  s.read("text", o.text);
  s.read_choice("choice", o.choice, {"gru", "lstm", "rnn"});
  s.read_or_auto("automatic", o.automatic, at_least(1));
  s.read_path("path", o.path);
  s.read("numbers", o.numbers, from_below(0, 1));
  s.read("texts", o.texts);
}

/// Reads `model` of a text into Options; `resolved` gets the outcome.
Options read_model(const Config& config, Config& resolved) {
  Options options;
  Section root(config, resolved);
  Section model = root.section("model");
  read(model, options);
  refuse_unknown(config, resolved);
  return options;
}

Options read_model(const std::string& text) {
  Config resolved;
  return read_model(Config::from_text(text, "a.yaml"), resolved);
}

/// What is said against `model:\n  LINE`.
std::string refusal(const std::string& line) {
  try {
    read_model("model:\n  " + line + "\n");
  } catch (const UserError& error) {
    return error.what();
  }
  return "(nothing was refused)";
}

TEST(Section, LeavesDefaultsWhereKeysAreAbsentOrNull) {
  for (const char* text :
       {"", "model:\n", "model: {}\n", "model: {whole: , text: ~, numbers: null}\n"}) {
    Options options = read_model(text);
    EXPECT_EQ(options.whole, 3);
    EXPECT_EQ(options.text, "default");
    EXPECT_EQ(options.numbers, (std::vector<double>{0.9, 0.999}));
    EXPECT_EQ(options.automatic, -1);
  }
}

TEST(Section, ReadsEveryType) {
  Options options = read_model(
      "model:\n  whole: 5\n  seed: 18446744073709551615\n  number: 1.0e-3\n  flag: true\n"
      "  text: \"5\"\n  choice: lstm\n  automatic: 4\n  path: ../x/./y\n  numbers: [0, .001]\n"
      "  texts: [b, \"\", 7]\n");
  EXPECT_EQ(options.whole, 5);
  EXPECT_EQ(options.seed, 18446744073709551615u);
  EXPECT_EQ(options.number, 1e-3);
  EXPECT_TRUE(options.flag);
  EXPECT_EQ(options.text, "5");
  EXPECT_EQ(options.choice, "lstm");
  EXPECT_EQ(options.automatic, 4);
  EXPECT_EQ(options.path,
            (std::filesystem::current_path().parent_path() / "x" / "y").lexically_normal());
  EXPECT_EQ(options.numbers, (std::vector<double>{0, 0.001}));
  EXPECT_EQ(options.texts, (std::vector<std::string>{"b", "", "7"}));
}

TEST(Section, ResolvedStatesDefaultsAndReadsBackTheSame) {
  Config resolved;
  Config source = Config::from_text("model: {number: 0.1, text: \"1e3\"}\n", "a.yaml");
  read_model(source, resolved);
  EXPECT_EQ(resolved.yaml(),
            "model:\n"
            "  whole: 3\n"
            "  seed: 7\n"
            "  number: 0.1\n"
            "  flag: false\n"
            "  text: \"1e3\"\n"
            "  choice: gru\n"
            "  automatic: auto\n"
            "  path: \"\"\n"
            "  numbers: [0.9, 0.999]\n"
            "  texts: [a]\n");
  Config again;
  read_model(Config::from_text(resolved.yaml(), "b.yaml"), again);
  EXPECT_EQ(again.yaml(), resolved.yaml());
}

TEST(Section, RefusesValuesOutOfRange) {
  EXPECT_EQ(refusal("whole: 0"), "a.yaml:2: model.whole: must be at least 1, but is 0");
  EXPECT_EQ(refusal("number: 1.0"),
            "a.yaml:2: model.number: must be at least 0 and below 1, but is 1.0");
  EXPECT_EQ(refusal("number: -1e-3"),
            "a.yaml:2: model.number: must be at least 0 and below 1, but is -1e-3");
  EXPECT_EQ(refusal("numbers: [0.5, 2]"),
            "a.yaml:2: model.numbers[1]: must be at least 0 and below 1, but is 2");
  EXPECT_EQ(refusal("automatic: -1"), "a.yaml:2: model.automatic: must be at least 1, but is -1");
}

TEST(Section, NamesEachRange) {
  auto refuse = [](const Range& range, const std::string& text) -> std::string {
    Config resolved, config = Config::from_text("x: " + text + "\n", "a.yaml");
    double value = 0;
    try {
      Section(config, resolved).read("x", value, range);
    } catch (const UserError& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(refuse(above(0), "0"), "a.yaml:1: x: must be above 0, but is 0");
  EXPECT_EQ(refuse(between(0, 1), "1.5"), "a.yaml:1: x: must be between 0 and 1, but is 1.5");
  EXPECT_EQ(refuse({.high = 2}, "3"), "a.yaml:1: x: must be at most 2, but is 3");
  EXPECT_EQ(refuse({.low = 0, .high = 1, .above_low = true}, "0"),
            "a.yaml:1: x: must be above 0 and at most 1, but is 0");
  EXPECT_EQ(refuse(above(0), "1e-300"), "");
  EXPECT_EQ(refuse(between(0, 1), "1"), "");
}

TEST(Section, RefusesWrongTypes) {
  EXPECT_EQ(refusal("whole: 1.5"), "a.yaml:2: model.whole: must be a whole number, but is 1.5");
  EXPECT_EQ(refusal("whole: 1e3"),
            "a.yaml:2: model.whole: must be a whole number, but is 1e3; write 1000");
  EXPECT_EQ(refusal("whole: 1_000"), "a.yaml:2: model.whole: must be a whole number, but is 1_000");
  EXPECT_EQ(refusal("whole: \"5\""),
            "a.yaml:2: model.whole: must be a whole number, but is the text \"5\"");
  EXPECT_EQ(refusal("whole: 9223372036854775808").find("model.whole: must be a whole number") !=
                std::string::npos,
            true);
  EXPECT_EQ(refusal("whole: {a: 1}"),
            "a.yaml:2: model.whole: must be a whole number, but is a map of keys");
  EXPECT_EQ(
      refusal("seed: -1"),
      "a.yaml:2: model.seed: must be a whole number between 0 and 18446744073709551615, but is -1");
  for (const char* text :
       {"nan", ".nan", "inf", "-.inf", "1e999", "0x10", "1_000", "abc", "1e", "."}) {
    EXPECT_EQ(refusal(std::string("number: ") + text),
              std::string("a.yaml:2: model.number: must be a finite number, but is ") + text);
  }
  EXPECT_EQ(refusal("flag: yes"), "a.yaml:2: model.flag: must be true or false, but is yes");
  EXPECT_EQ(refusal("text: [a]"), "a.yaml:2: model.text: must be a text, but is a list");
  EXPECT_EQ(refusal("path: {a: b}"), "a.yaml:2: model.path: must be a text, but is a map of keys");
  EXPECT_EQ(refusal("automatic: often"),
            "a.yaml:2: model.automatic: must be a whole number or auto, but is often");
  EXPECT_EQ(refusal("numbers: 0.9"),
            "a.yaml:2: model.numbers: must be a list of numbers, like [0.9, 0.999], but is 0.9");
  EXPECT_EQ(refusal("texts: a"),
            "a.yaml:2: model.texts: must be a list of texts, like [a, b], but is a");
  EXPECT_EQ(refusal("texts: [a, [b]]"), "a.yaml:2: model.texts[1]: must be a text, but is a list");
  EXPECT_EQ(refusal("text: a\n  whole: \"x\\ny\""),
            "a.yaml:3: model.whole: must be a whole number, but is the text \"x\\ny\"");
}

TEST(Section, RefusesAScalarWhereAMapIsWanted) {
  Config resolved;
  auto text = [&](const std::string& yaml) -> std::string {
    try {
      read_model(Config::from_text(yaml, "a.yaml"), resolved);
    } catch (const UserError& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(text("model: gru\n"), "a.yaml:1: model: must be a map of keys, but is gru");
  EXPECT_EQ(text("model: [a]\n"), "a.yaml:1: model: must be a map of keys, but is a list");
  EXPECT_EQ(text("- a\n"), "a.yaml:1: the configuration must be a map of keys, but is a list");
}

TEST(Section, RefusesUnknownChoices) {
  EXPECT_EQ(refusal("choice: grv"),
            "a.yaml:2: model.choice: unknown choice \"grv\"; did you mean \"gru\"? (known: gru, "
            "lstm, rnn)");
  EXPECT_EQ(refusal("choice: transformer"),
            "a.yaml:2: model.choice: unknown choice \"transformer\" (known: gru, lstm, rnn)");
  Config resolved, config = Config::from_text("a: 1\n", "a.yaml");
  std::string none;
  try {
    Section(config, resolved).read_choice("type", none, {"copy", "reverse"});
    FAIL();
  } catch (const UserError& error) {
    EXPECT_STREQ(error.what(), "a.yaml:1: type: is missing; must be one of copy, reverse");
  }
}

TEST(Section, PlaceOfACommandLineValueIsTheOption) {
  Config resolved, config = Config::from_text("model: {whole: 1}\n", "a.yaml");
  auto refused = [&] {
    try {
      read_model(config, resolved);
    } catch (const UserError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  config.set("model.whole=0");
  EXPECT_EQ(refused(), "--set model.whole: must be at least 1, but is 0");
  config.set("model.whole=1");
  config.set("model.whoel=1");
  EXPECT_TRUE(refused().starts_with("--set model.whoel: unknown key; did you mean \"whole\"?"));
  config.set("model={number: 2}");
  EXPECT_EQ(refused(), "--set model: model.number: must be at least 0 and below 1, but is 2");
}

TEST(Section, RefusesUnknownKeys) {
  EXPECT_EQ(
      refusal("whoel: 1"),
      "a.yaml:2: model.whoel: unknown key; did you mean \"whole\"? (known: whole, seed, number, "
      "flag, text, choice, automatic, path, numbers, texts)");
  EXPECT_TRUE(
      refusal("zzzzzz:").starts_with("a.yaml:2: model.zzzzzz: unknown key (known: whole, "));
  try {
    read_model("seed: 1\n");
    FAIL();
  } catch (const UserError& error) {
    EXPECT_STREQ(error.what(),
                 "a.yaml:1: seed: unknown key; did you mean model.seed? (known: model)");
  }
}

TEST(Section, ManySectionsStayValid) {
  Config resolved, config = Config::from_text("a: {x: 1}\n", "a.yaml");
  Section root(config, resolved);
  std::vector<Section> sections;
  for (int i = 0; i < 50; ++i) sections.push_back(root.section(format("s{}", i)).section("below"));
  int64_t value = 0;
  for (int i = 0; i < 50; ++i) sections[static_cast<size_t>(i)].read("v", value = i);
  for (int i = 0; i < 50; ++i)
    EXPECT_EQ(resolved.find(format("s{}", i))->find("below")->find("v")->scalar(),
              std::to_string(i));
}

TEST(Section, RefusesAtTheNearestPlace) {
  Config resolved, config = Config::from_text("name: x\nmodel:\n  encoder: {a: 1}\n", "a.yaml");
  Section root(config, resolved);
  auto text = [](Section section, const std::string& key) {
    try {
      section.refuse(key, "is wrong");
    } catch (const UserError& error) {
      return std::string(error.what());
    }
  };
  Section model = root.section("model");
  EXPECT_EQ(text(model.section("encoder"), "a"), "a.yaml:3: model.encoder.a: is wrong");
  EXPECT_EQ(text(model.section("encoder"), "b"), "a.yaml:3: model.encoder.b: is wrong");
  EXPECT_EQ(text(model.section("decoder"), "b"), "a.yaml:2: model.decoder.b: is wrong");
  EXPECT_EQ(text(model, ""), "a.yaml:2: model: is wrong");
  EXPECT_EQ(model.path(), "model");
  EXPECT_TRUE(model.has("encoder"));
  EXPECT_FALSE(model.has("decoder"));
}

TEST(Section, RecordsWhatWasWorkedOut) {
  Config resolved, config;
  Section root(config, resolved);
  root.section("train").record("shards", "2");
  EXPECT_EQ(resolved.yaml(), "train: {shards: 2}\n");
}

TEST(Names, NearestByEditDistance) {
  const std::vector<std::string> known = {"hidden",    "layers", "bidirectional",
                                          "optimizer", "gru",    "lr"};
  EXPECT_EQ(nearest("hiden", known), "hidden");
  EXPECT_EQ(nearest("hdiden", known), "hidden");
  EXPECT_EQ(nearest("GRU", known), "gru");
  EXPECT_EQ(nearest("rl", known), "lr");
  EXPECT_EQ(nearest("optim", known), "optimizer");
  EXPECT_EQ(nearest("bidirectonal", known), "bidirectional");
  EXPECT_EQ(nearest("momentum", known), "");
  EXPECT_EQ(nearest("x", {}), "");
  EXPECT_EQ(nearest("lrs", {"lr", "lrt"}), "lr");
}

TEST(Numbers, KnowNumbersFromOtherText) {
  for (const char* text : {"1e-3", "1.0e-3", ".001", "5", "5.", "-1", "+1", "0", "1E5"})
    EXPECT_TRUE(parse_number(text).has_value()) << text;
  for (const char* text :
       {"", ".", "-", "e5", "1e", "1e+", "1_000", "0x1", "inf", "nan", "1 ", " 1", "1,5"})
    EXPECT_FALSE(parse_number(text).has_value()) << text;
  EXPECT_EQ(parse_number("+.5e+1"), 5.0);
  EXPECT_EQ(parse_whole("-9223372036854775808"), std::numeric_limits<int64_t>::min());
  EXPECT_FALSE(parse_whole("9223372036854775808"));
  EXPECT_FALSE(parse_whole("1.0"));
  EXPECT_FALSE(parse_unsigned("-0"));
  for (double value : {0.1, 1e-8, 1.0 / 3, 3000.0, 1e300, -0.5})
    EXPECT_EQ(parse_number(number_text(value)), value);
}

}  // namespace
}  // namespace lookback
