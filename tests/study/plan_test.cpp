#include "study/plan.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "support/text_folder.h"

namespace lookback {
namespace {

constexpr const char* kBase = R"(name: base
data:
  task: {type: copy, symbols: 6, min_length: 1, max_length: 4}
  held_out: {examples: 20}
model:
  encoder: {embedding: 6, hidden: 8}
  decoder: {embedding: 6, hidden: 8}
train: {steps: 4, batch: {size: 4}, validate: {every: 2}}
)";

class StudyPlanTest : public testing::Test {
 protected:
  StudyPlanTest() {
    folder.write("base.yaml", kBase);
    folder.write("other.yaml", std::string(kBase) + "decode: {beam: 2}\n");
  }
  StudyPlan read(const std::string& text, const StudyForm& form = {}) {
    return read_study(Config::from_file(folder.write("study.yaml", text)), form);
  }
  std::string refusal(const std::string& text, const StudyForm& form = {}) {
    return user_error([&] { read(text, form); });
  }
  void expect_refused(const std::string& text, const std::string& what) {
    std::string error = refusal(text);
    EXPECT_NE(error.find(what), std::string::npos) << "wanted: " << what << "\ngot: " << error;
    EXPECT_EQ(error.find('\n'), std::string::npos) << error;
  }

  TextFolder folder;
};

TEST_F(StudyPlanTest, TheGridIsTheProductOfTheAxes) {
  StudyPlan plan = read(R"(name: s
base: base.yaml
set: {train.steps: 7}
vary:
  model:
    none: {}
    with attention: {model.attention.type: bahdanau}
    other: {base: other.yaml}
  train.batch.size: [8, 16]
skip:
  - {model: other, train.batch.size: 16}
seeds: [4, 9]
test: {lengths: {from: 2, to: 6, step: 2}, examples: 3}
)");
  ASSERT_EQ(plan.cells.size(), 10u);
  EXPECT_EQ(plan.cells[0].label(), "none, 8, seed 4");
  EXPECT_EQ(plan.cells[0].folder, "none-8-seed4");
  EXPECT_EQ(plan.cells[3].label(), "none, 16, seed 9");
  EXPECT_EQ(plan.cells[9].label(), "other, 8, seed 9");
  EXPECT_EQ(plan.cells[9].recipe.decode.beam, 2);
  EXPECT_EQ(plan.cells[3].recipe.seed, 9u);
  EXPECT_EQ(plan.cells[3].recipe.train.steps, 7);
  EXPECT_EQ(plan.cells[3].recipe.train.shards, 1);
  EXPECT_EQ(plan.cells[3].test.lengths, (std::vector<int64_t>{2, 4, 6}));
  EXPECT_EQ(plan.cells[2].recipe.train.batch.size, 16);
  std::set<std::string> folders;
  for (const StudyCell& cell : plan.cells) EXPECT_TRUE(folders.insert(cell.folder).second);
}

TEST_F(StudyPlanTest, AFolderFollowsFromItsLabelsAlone) {
  auto folders = [&](const std::string& choices) {
    std::map<std::string, std::string> out;
    for (const StudyCell& cell :
         read("base: base.yaml\nvary: {m: {" + choices + "}}\nseeds: 1\n").cells)
      out[cell.choices[0]] = cell.folder;
    return out;
  };
  auto few = folders("A: {}, 'a!': {}, '模型': {}, '注意': {}");
  EXPECT_EQ(std::set<std::string>({few["A"], few["a!"], few["模型"], few["注意"]}).size(), 4u);
  auto more =
      folders("'固定': {}, '注意': {}, A: {}, '模型': {}, '" + std::string(300, 'x') + "': {}");
  for (const char* label : {"A", "模型", "注意"}) EXPECT_EQ(few[label], more[label]);
  for (const auto& [label, name] : more) EXPECT_LT(name.size(), 100u);
  EXPECT_NE(refusal("base: base.yaml\nvary: {m: {'a b': {}, 'a, b': {}}}\nseeds: 1\n")
                .find("rename a choice"),
            std::string::npos);
}

TEST_F(StudyPlanTest, ATestMayVaryToo) {
  StudyPlan plan = read("base: base.yaml\nvary: {test.examples: [2, 3]}\nseeds: 1\n");
  ASSERT_EQ(plan.cells.size(), 2u);
  EXPECT_EQ(plan.cells[1].test.examples, 3);
}

TEST_F(StudyPlanTest, WhatATaskHasNotIsRefusedBeforeItCostsAnything) {
  auto with = [&](const std::string& task, const std::string& test) {
    return "base: base.yaml\nseeds: 1\nset: {data.task: {" + task +
           "}}\nvary: {m: {a: {}}}\ntest: {" + test + "}\n";
  };
  // Shorter lengths than a task has are left out.
  StudyPlan plan = read(with("type: copy_token, max_length: 4", "lengths: [1, 2, 3]"));
  EXPECT_EQ(plan.cells[0].test_data->task->min_length(), 2);
  expect_refused(with("type: copy_token, max_length: 4", "lengths: [2, 8]"),
                 "study.yaml:5: test: the vocabulary of copy_token");
  expect_refused(with("type: dates", "lengths: [1, 50]"), "has no sources of any of these lengths");
  expect_refused(with("type: recall", "gradient_length: 7"), "has no sources of length 7");
  folder.write("text.yaml",
               "data: {corpus: {train: {source: a, target: b}, valid: {source: a, target: b}}}\n"
               "train: {steps: 1}\n");
  for (const char* test : {"lengths: [3]", "gradient_length: 3"})
    expect_refused(
        std::string("base: text.yaml\nseeds: 1\nvary: {m: {a: {}}}\ntest: {") + test + "}\n",
        "is for made-up tasks");
  expect_refused("base: base.yaml\nseeds: 1\nvary: {m: {a: {}}}\nshow: {metric: bleu}\n",
                 "test.bleu: true");
}

TEST_F(StudyPlanTest, WhatAStudyGivesItselfIsRefused) {
  const std::string good = "base: base.yaml\nseeds: 1\nvary: {m: {a: {}}}\n";
  expect_refused(good + "set: {seed: 3}\n", "belongs under the study's own `seeds`");
  expect_refused("base: base.yaml\nvary: {m: {a: {seed: 3}}}\n", "belongs under");
  expect_refused("base: base.yaml\nvary: {seed: [1, 2]}\n", "seeds belong under `seeds`");
  expect_refused("base: base.yaml\nvary: {nll: {a: {}}}\n", "is a column of the results");
  expect_refused("base: base.yaml\nvary: {'': {a: {}}}\n", "an axis needs a name");
  expect_refused("base: base.yaml\nvary: {train.threads: [1, 2]}\n", "every model runs on one");
  for (const char* setting : {"seed=3", "name=x", "train.threads=2"})
    EXPECT_NE(refusal(good, {.settings = {setting}}).find("the study's own to give"),
              std::string::npos);
  expect_refused("base: base.yaml\nvari: {m: {a: {}}}\n", "did you mean \"vary\"?");
  expect_refused(good + "skipp: []\n", "did you mean \"skip\"?");
  expect_refused(good + "test: {lenghts: [1]}\n", "did you mean \"lengths\"?");
  expect_refused(good + "skip: [{m: {a: 1}}]\n", "must be a label or a list of labels");
  expect_refused("base: gone.yaml\nvary: {m: {a: {}}}\n", "study.yaml:1: base: ");
}

TEST_F(StudyPlanTest, AChoiceMayTestOtherwiseAndTheCommandLineHasTheLastWord) {
  std::string text = R"(base: base.yaml
vary: {m: {short: {test.examples: 5, train.steps: 3}, long: {}}}
seeds: 2
test: {examples: 9}
full: {seeds: 4, test: {examples: 50}, vary: {m: {third: {}}}}
)";
  StudyPlan plan = read(text);
  ASSERT_EQ(plan.cells.size(), 4u);
  EXPECT_EQ(plan.cells[0].test.examples, 5);
  EXPECT_EQ(plan.cells[2].test.examples, 9);
  StudyPlan full = read(text, {.full = true});
  ASSERT_EQ(full.cells.size(), 12u);
  EXPECT_EQ(full.cells[0].test.examples, 5);
  EXPECT_EQ(full.cells[4].test.examples, 50);
  StudyPlan forced = read(text, {.settings = {"train.steps=1", "test.examples=2"}, .seeds = 1});
  ASSERT_EQ(forced.cells.size(), 2u);
  EXPECT_EQ(forced.cells[0].recipe.train.steps, 1);
  EXPECT_EQ(forced.cells[0].test.examples, 2);
}

TEST_F(StudyPlanTest, MistakesAreNamedWithTheirPlace) {
  const std::string good = "base: base.yaml\nseeds: 1\n";
  expect_refused(good, "vary: is missing");
  expect_refused(good + "vary: {}\n", "study.yaml:3: vary: is empty, so the grid is empty");
  expect_refused(good + "vary: {m: {}}\n", "vary.m: has no choices, so the grid is empty");
  expect_refused(good + "vary: {m: []}\n", "vary.m: has no choices, so the grid is empty");
  expect_refused(good + "vary: {m: {a: 3}}\n", "vary.m.a: must be a map of keys to values");
  expect_refused(good + "vary: {m: 3}\n", "vary.m: must be a map of choices");
  expect_refused("base: base.yaml\nseeds: []\nvary: {m: {a: {}}}\n", "seeds: holds no seed");
  expect_refused("base: base.yaml\nseeds: [1, 1]\nvary: {m: {a: {}}}\n", "1 stands there twice");
  expect_refused("base: base.yaml\nseeds: [1.5]\nvary: {m: {a: {}}}\n", "1.5 is no whole number");
  expect_refused("seeds: 1\nvary: {m: {a: {}}}\n", "base: is missing");
  expect_refused(good + "vary: {m: {a: {}}}\nteste: {examples: 3}\n",
                 "study.yaml:4: teste: unknown key; did you mean \"test\"?");
  expect_refused(good + "vary: {m: {a: {}}}\ntest: {exampels: 3}\n", "did you mean \"examples\"?");
  expect_refused(good + "vary: {m: {a: {model.encoder.hiden: 3}}}\n",
                 "study.yaml:3: model.encoder.hiden: unknown key; did you mean \"hidden\"?");
  expect_refused(good + "vary: {m: {a: {model.encoder.hidden: x}}}\n", "study.yaml:3: ");
  expect_refused(good + "vary: {m: {a: {test.examples: 0}}}\n", "study.yaml:3: test.examples");
  expect_refused(good + "vary: {m: {a: {}}}\nskip: [{m: a}]\n", "leaves nothing of the grid");
  expect_refused(good + "vary: {m: {a: {}}}\nskip: [{n: a}]\n", "unknown axis \"n\"");
  expect_refused(good + "vary: {m: {a: {}}}\nskip: [{m: b}]\n", "unknown choice of m \"b\"");
  expect_refused(good + "vary: {m: {a: {}}}\nshow: {panels: task}\n", "unknown axis \"task\"");
  expect_refused(good + "vary: {m: {a: {}}}\nshow: {across: m}\n",
                 "its choices must be numbers, and \"a\" is none");
  expect_refused(good + "vary: {m: {a: {}}}\ntest: {lengths: {from: 5, to: 3}}\n",
                 "3 is below from, which is 5");
  expect_refused(good +
                     "vary: {m: {a: {base: other.yaml}}, n: {b: {base: base.yaml, train.steps: 1}, "
                     "c: {base: other.yaml}}}\nset: {base: base.yaml}\n",
                 "belongs one level up");
  // The long form is read as well, so that its mistakes show before it is asked for.
  expect_refused(good + "vary: {m: {a: {}}}\nfull: {tset: {examples: 3}}\n", "tset");
  EXPECT_NE(refusal(good + "vary: {m: {a: {}}}\n", {.full = true}).find("no full form"),
            std::string::npos);
}

TEST_F(StudyPlanTest, TheResolvedStudyReadsBackTheSame) {
  StudyPlan plan = read("base: base.yaml\nvary: {m: {a: {}, b: {train.steps: 2}}}\nseeds: 2\n");
  folder.write("again.yaml", plan.resolved.yaml());
  StudyPlan again = read_study(Config::from_file(folder.path("again.yaml")));
  ASSERT_EQ(again.cells.size(), plan.cells.size());
  for (size_t i = 0; i < plan.cells.size(); ++i) {
    EXPECT_EQ(again.cells[i].recipe.resolved.yaml(), plan.cells[i].recipe.resolved.yaml());
    EXPECT_EQ(again.cells[i].folder, plan.cells[i].folder);
  }
}

}  // namespace
}  // namespace lookback
