#include "core/config.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "core/files.h"
#include "support/text_folder.h"

namespace lookback {
namespace {

std::string parse_refusal(const std::string& text) {
  return user_error([&] { Config::from_text(text, "a.yaml"); });
}

void expect_same(const Config& a, const Config& b) {
  EXPECT_EQ(a.kind(), b.kind());
  EXPECT_EQ(a.scalar(), b.scalar());
  ASSERT_EQ(a.items().size(), b.items().size());
  for (size_t i = 0; i < a.items().size(); ++i) expect_same(a.items()[i], b.items()[i]);
  ASSERT_EQ(a.fields().size(), b.fields().size());
  for (size_t i = 0; i < a.fields().size(); ++i) {
    EXPECT_EQ(a.fields()[i].first, b.fields()[i].first);
    expect_same(a.fields()[i].second, b.fields()[i].second);
  }
}

TEST(Config, KeepsKindsOrderAndLines) {
  Config config = Config::from_text(
      "name: copy\n"
      "model:\n"
      "  encoder: {hidden: 128,\n"
      "            cell: gru}\n"
      "  betas: [0.9, \"0.5\"]\n"
      "nothing:\n",
      "a.yaml");
  ASSERT_EQ(config.kind(), Config::Kind::kMap);
  ASSERT_EQ(config.fields().size(), 3u);
  EXPECT_EQ(config.fields()[0].first, "name");
  EXPECT_EQ(config.find("name")->scalar(), "copy");
  EXPECT_EQ(config.find("name")->place(), "a.yaml:1");
  const Config& model = *config.find("model");
  EXPECT_EQ(model.place(), "a.yaml:2");
  EXPECT_EQ(model.find("encoder")->place(), "a.yaml:3");
  EXPECT_EQ(model.find("encoder")->find("cell")->place(), "a.yaml:4");
  const Config& betas = *model.find("betas");
  ASSERT_EQ(betas.kind(), Config::Kind::kList);
  EXPECT_FALSE(betas.items()[0].quoted());
  EXPECT_TRUE(betas.items()[1].quoted());
  EXPECT_EQ(config.find("nothing")->kind(), Config::Kind::kNone);
  EXPECT_EQ(config.find("absent"), nullptr);
}

TEST(Config, ReadsAnchors) {
  Config config = Config::from_text("a: &x {b: 1}\nc: *x\n", "a.yaml");
  EXPECT_EQ(config.find("c")->find("b")->scalar(), "1");
}

TEST(Config, RefusesDuplicateKeys) {
  EXPECT_EQ(parse_refusal("model:\n  a: 1\n  b: 2\n  a: 3\n"),
            "a.yaml:4: duplicate key \"a\" (first at a.yaml:2)");
}

TEST(Config, RefusesBadYamlWithLineAndColumn) {
  EXPECT_TRUE(parse_refusal("a: 1\nb: {c: 2\n").starts_with("a.yaml:3:1: bad YAML: "));
  EXPECT_TRUE(parse_refusal("a: 1\nb: *nowhere\n").starts_with("a.yaml:2:4: bad YAML: "));
  EXPECT_TRUE(parse_refusal("a: 1\n b: 2: 3\n").starts_with("a.yaml:2:"));
  EXPECT_EQ(parse_refusal("a:\n \tb: 1\n"),
            "a.yaml:2:2: bad YAML: a tab in the indentation; use blanks");
  EXPECT_EQ(parse_refusal("a: \x01\n"), "a.yaml:1:4: bad YAML: control character 0x01");
  EXPECT_EQ(parse_refusal("a: 1\nb: x\xff\n"), "a.yaml:2:byte 5: invalid UTF-8 (0xff)");
  EXPECT_EQ(parse_refusal("a: 1\n---\nb: 1\n"),
            "a.yaml:2:1: bad YAML: stray text, or a second document");
  EXPECT_EQ(parse_refusal(", a\n"), "a.yaml:1:1: bad YAML: stray text, or a second document");
  EXPECT_EQ(parse_refusal("{a: 1}\n}\n"), "a.yaml:2:1: bad YAML: illegal flow end");
  EXPECT_EQ(parse_refusal("a: !!int 5\n"),
            "a.yaml:1: the YAML tag \"tag:yaml.org,2002:int\" is not read here; leave it out");
}

TEST(Config, RefusesEndlessNesting) {
  EXPECT_EQ(parse_refusal("a: &x\n  b: *x\n"), "a.yaml:2: nested more than 100 deep");
  std::string doubling = "a0: &a0 [1, 1]\n";
  for (int i = 1; i < 40; ++i) doubling += format("a{}: &a{} [*a{}, *a{}]\n", i, i, i - 1, i - 1);
  EXPECT_NE(parse_refusal(doubling).find("more than 100000 values"), std::string::npos);
}

TEST(Config, NamesMissingAndEmptyFiles) {
  TextFolder own;
  std::string folder = own.path("");
  std::string missing = folder + "no-such.yaml";
  EXPECT_EQ(user_error([&] { Config::from_file(missing); }), missing + ": no such file");
  EXPECT_EQ(user_error([&] { Config::from_file(folder); }), folder + ": is a folder, not a file");
  std::string empty = folder + "empty.yaml";
  write_file(empty, "# only a comment\n");
  EXPECT_EQ(user_error([&] { Config::from_file(empty); }), empty + ": the configuration is empty");
}

TEST(Config, FileGivesPlaceAndFolder) {
  TextFolder own;
  std::string path = own.path("placed.yaml");
  write_file(path, "\xEF\xBB\xBFname: x\r\nseed: 1\r\n");
  Config config = Config::from_file(path);
  EXPECT_EQ(config.find("name")->scalar(), "x");
  EXPECT_EQ(config.find("seed")->place(), path + ":2");
  EXPECT_EQ(config.find("seed")->folder() + "/", own.path(""));
}

TEST(ConfigSet, ReplacesAndMakesValues) {
  Config config = Config::from_text("model:\n  encoder: {hidden: 1}\n  empty:\n", "a.yaml");
  config.set("model.encoder.hidden=64");
  config.set("model.attention.type=luong");
  config.set("train.optimizer={type: sgd, lr: 0.1}");
  config.set("model.empty.x=\"5\"");
  config.set("name=a=b");
  const Config& hidden = *config.find("model")->find("encoder")->find("hidden");
  EXPECT_EQ(hidden.scalar(), "64");
  EXPECT_EQ(hidden.place(), "--set model.encoder.hidden");
  EXPECT_EQ(config.find("model")->place(), "a.yaml:1");
  EXPECT_EQ(config.find("model")->find("attention")->find("type")->scalar(), "luong");
  const Config& optimizer = *config.find("train")->find("optimizer");
  EXPECT_EQ(optimizer.find("lr")->scalar(), "0.1");
  EXPECT_EQ(optimizer.find("lr")->place(), "--set train.optimizer");
  EXPECT_TRUE(config.find("model")->find("empty")->find("x")->quoted());
  EXPECT_EQ(config.find("name")->scalar(), "a=b");
  config.set("model.encoder=");
  EXPECT_EQ(config.find("model")->find("encoder")->kind(), Config::Kind::kNone);
}

TEST(ConfigSet, RefusesWhatIsNoAssignment) {
  Config config = Config::from_text("name: x\nlist: [1]\n", "a.yaml");
  auto set_refusal = [&](const std::string& text) { return user_error([&] { config.set(text); }); };
  EXPECT_EQ(set_refusal("train.steps"),
            "--set train.steps: must be KEY=VALUE, like --set train.steps=100");
  EXPECT_EQ(set_refusal("a..b=1"),
            "--set a..b=1: the key must be words with dots between, like train.steps");
  EXPECT_EQ(set_refusal("=1"),
            "--set =1: the key must be words with dots between, like train.steps");
  EXPECT_EQ(set_refusal("name.x=1"), "--set name.x: name is no map of keys (at a.yaml:1)");
  EXPECT_EQ(set_refusal("list.0=1"), "--set list.0: list is no map of keys (at a.yaml:2)");
  EXPECT_TRUE(set_refusal("a={b: 1").starts_with("--set a: bad YAML: "));
  EXPECT_TRUE(set_refusal("a={b: 1, b: 2}").starts_with("--set a: duplicate key \"b\""));
}

TEST(ConfigYaml, ReadsBackTheSame) {
  const std::vector<std::string> texts = {"gru",
                                          "true",
                                          "1e3",
                                          "",
                                          " ",
                                          " a",
                                          "a ",
                                          "a: b",
                                          "a #b",
                                          "#",
                                          ":",
                                          "-",
                                          "- a",
                                          "-1",
                                          "-.5",
                                          "--- a",
                                          "...",
                                          "~",
                                          "null",
                                          "NULL",
                                          "a\nb",
                                          "a\n",
                                          "\n",
                                          "\t",
                                          "a\tb",
                                          "\"",
                                          "'",
                                          "\\",
                                          "\\n",
                                          "{a}",
                                          "[a]",
                                          "a, b",
                                          "*a",
                                          "&a",
                                          "!a",
                                          "|",
                                          ">",
                                          "%a",
                                          "@a",
                                          "`a",
                                          "? a",
                                          "a?",
                                          "a?b",
                                          "=",
                                          "<<",
                                          "gr\xC3\xBC\xC3\x9F"
                                          "e",
                                          "\xE6\x97\xA5\xE6\x9C\xAC",
                                          "\xF0\x9F\x98\x80",
                                          "\xC2\x85",
                                          "\xC2\xA0",
                                          "\xE2\x80\xA8",
                                          "\xE2\x80\xA9",
                                          "\xEF\xBB\xBFx",
                                          std::string("\0a", 2),
                                          "\x7F",
                                          "\x1b[0m",
                                          std::string(2000, 'x'),
                                          std::string(300, ' ') + "x",
                                          "a\r\nb",
                                          "/data/train.de",
                                          "yes",
                                          "no"};
  for (const std::string& text : texts) {
    for (bool quoted : {false, true}) {
      SCOPED_TRACE(testing::PrintToString(text));
      Config scalar = Config::of_scalar(text, quoted);
      expect_same(Config::from_text(scalar.yaml(), "a"), scalar);
      Config config;
      config = Config::of_map();
      config.field("block") = scalar;
      config.field("list") = Config::of_list({scalar, scalar});
      Config inner = Config::of_map();
      inner.field("value") = scalar;
      inner.field(text.substr(0, 100)) = scalar;
      config.field("inner") = inner;
      config.field("maps") = Config::of_list({inner, Config(), inner});
      Config again = Config::from_text(config.yaml(), "a");
      expect_same(again, config);
      EXPECT_EQ(again.find("block")->quoted() || !quoted, true);
    }
  }
}

TEST(ConfigYaml, IsEasyToRead) {
  const std::string text =
      "name: copy\n"
      "seed: 1\n"
      "model:\n"
      "  encoder: {type: recurrent, cell: gru, embedding: 64, hidden: 128, dropout: 0}\n"
      "  attention:\n"
      "    a:\n"
      "      b: {c: {d: 1}}\n"
      "optimizer: {type: adam, betas: [0.9, 0.999]}\n"
      "nothing: ~\n"
      "empty: {}\n"
      "none: []\n"
      "lists:\n"
      "  - [[1, 2], 3]\n"
      "  -\n"
      "    a: {b: {c: 1}}\n"
      "    d: 2\n";
  EXPECT_EQ(Config::from_text(text, "a").yaml(), text);
}

TEST(ConfigYaml, BreaksLongLines) {
  Config map = Config::of_map();
  for (int i = 0; i < 30; ++i) map.field(format("key{}", i)) = Config::of_scalar("12345");
  Config config = Config::of_map();
  config.field("long") = map;
  EXPECT_TRUE(config.yaml().starts_with("long:\n  key0: 12345\n  key1: 12345\n"));
  expect_same(Config::from_text(config.yaml(), "a"), config);
  expect_same(Config::from_text(Config().yaml(), "a"), Config());
}

}  // namespace
}  // namespace lookback
