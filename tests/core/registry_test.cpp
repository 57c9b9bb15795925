#include "core/registry.h"

#include <gtest/gtest.h>

#include "support/text_folder.h"

namespace lookback {
namespace {

using Factory = std::function<int()>;

Registry<Factory> sample() {
  Registry<Factory> registry("cell");
  registry.add("lstm", "long short-term memory", [] { return 1; });
  registry.add("gru", "gated recurrent unit", [] { return 2; });
  return registry;
}

TEST(Registry, FindsWhatWasAdded) {
  Registry<Factory> registry = sample();
  EXPECT_EQ(registry.get("gru")(), 2);
  EXPECT_EQ(registry.names(), (std::vector<std::string>{"gru", "lstm"}));
  EXPECT_EQ(registry.entries().at("gru").description, "gated recurrent unit");
}

TEST(Registry, RefusesADuplicate) {
  Registry<Factory> registry = sample();
  try {
    registry.add("gru", "again", [] { return 3; });
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "[registry] cell \"gru\" is registered already");
  }
  EXPECT_EQ(registry.get("gru")(), 2);
}

TEST(Registry, NamesTheNearest) {
  Registry<Factory> registry = sample();
  EXPECT_EQ(user_error([&] { registry.get("grv"); }),
            "unknown cell \"grv\"; did you mean \"gru\"? (known: gru, lstm)");
  EXPECT_EQ(user_error([&] { registry.get("transformer"); }),
            "unknown cell \"transformer\" (known: gru, lstm)");
}

TEST(Registry, ChoosesByASectionsKey) {
  Registry<Factory> registry = sample();
  Config resolved,
      config = Config::from_text("a: {cell: lstm}\nb: {}\nc: {cell: ltsm}\n", "a.yaml");
  Section root(config, resolved);
  Section a = root.section("a"), b = root.section("b"), c = root.section("c");
  EXPECT_EQ(registry.choose(a, "cell", "gru")(), 1);
  EXPECT_EQ(registry.choose(b, "cell", "gru")(), 2);
  EXPECT_EQ(resolved.find("b")->find("cell")->scalar(), "gru");
  EXPECT_EQ(user_error([&] { registry.choose(c, "cell", "gru"); }),
            "a.yaml:3: c.cell: unknown cell \"ltsm\"; did you mean \"lstm\"? (known: gru, lstm)");
  EXPECT_EQ(user_error([&] { registry.choose(b, "type", ""); }),
            "a.yaml:2: b.type: is missing; must be one of gru, lstm");
}

}  // namespace
}  // namespace lookback
