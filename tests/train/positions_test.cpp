#include "train/positions.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "core/log.h"
#include "support/text_folder.h"
#include "tiny_recipe.h"
#include "train/tasks.h"
#include "train/trainer.h"

namespace lookback {
namespace {

using Changes = std::vector<std::string>;

Example example(size_t source, size_t target) {
  return {std::vector<Id>(source, kMarks), std::vector<Id>(target, kMarks)};
}

TEST(Positions, CountTheEndMark) {
  EXPECT_FALSE(too_long(example(63, 31), {.source = 64, .target = 32}));
  EXPECT_FALSE(too_long(example(1000, 1000), {}));
  EXPECT_FALSE(too_long(example(1000, 31), {.source = -1, .target = 32}));
  std::optional<TooLong> problem = too_long(example(69, 90), {.source = 64, .target = 32});
  ASSERT_TRUE(problem);
  EXPECT_TRUE(problem->source);
  EXPECT_EQ(problem->text,
            "70 tokens with the end mark, but the encoder's learned positions end at 64 "
            "(model.encoder.max_positions)");
  problem = too_long(example(63, 32), {.source = 64, .target = 32});
  ASSERT_TRUE(problem);
  EXPECT_FALSE(problem->source);
  EXPECT_EQ(problem->text,
            "33 tokens with the end mark, but the decoder's learned positions end at 32 "
            "(model.decoder.max_positions)");
  EXPECT_EQ((PositionLimits{.source = 64, .target = 32}).least(), 32);
  EXPECT_EQ((PositionLimits{.source = 64, .target = -1}).least(), 64);
  EXPECT_EQ((PositionLimits{.source = -1, .target = 32}).least(), 32);
}

/// A Transformer whose sides have learned positions up to these.
Changes model(int64_t encoder, int64_t decoder) {
  auto side = [](const char* name, int64_t most) {
    return format(
        "model.{}={{type: transformer, width: 4, heads: 2, feed_forward: 4, layers: 1, positions: "
        "learned, max_positions: {}}}",
        name, most);
  };
  return {side("encoder", encoder), side("decoder", decoder), "model.attention={type: none}",
          "train.steps=1"};
}

class PositionsOfData : public ::testing::Test {
 protected:
  void SetUp() override { set_log_quiet(true); }
  void TearDown() override { set_log_quiet(false); }

  std::string line(int words) {
    std::string out;
    for (int i = 0; i < words; ++i) out += "w ";
    return out + "\n";
  }
  /// Text of so many words a line, on either side.
  void write(const std::string& split, const std::vector<std::pair<int, int>>& lines) {
    std::string source, target;
    for (auto [s, t] : lines) {
      source += line(s);
      target += line(t);
    }
    folder_.write(split + ".s", source);
    folder_.write(split + ".t", target);
  }
  Changes corpus(int64_t max_length, bool test = true) {
    auto pair = [&](const char* split) {
      return format("{0}: {{source: {1}.s, target: {1}.t}}", split, folder_.path(split));
    };
    return {"data.task=null", "data.same_length=null", "data.held_out=null",
            format("data.corpus={{{}, {}, {}max_length: {}}}", pair("train"), pair("valid"),
                   test ? pair("test") + ", " : "", max_length)};
  }
  /// What train() refuses; a folder that it leaves behind is a failure, for the first step would
  /// come after it.
  std::string refusal(Changes changes, const Changes& more) {
    changes.insert(changes.end(), more.begin(), more.end());
    std::string folder = folder_.path("run");
    TrainRun run;
    run.folder = folder;
    std::string text = user_error([&] { train(tiny_recipe(changes), run); });
    EXPECT_FALSE(std::filesystem::exists(folder));
    return text;
  }
  void expect_trains(Changes changes, const Changes& more) {
    changes.insert(changes.end(), more.begin(), more.end());
    EXPECT_NO_THROW(train(tiny_recipe(changes), {}));
  }
  TextFolder folder_;
};

TEST_F(PositionsOfData, TrainingTextIsRefusedByItsOwnLine) {
  // Lines 2 and 3 are left out before; the numbers stay those of the file.
  write("train", {{3, 3}, {0, 2}, {30, 2}, {7, 3}, {8, 3}, {9, 9}});
  write("valid", {{1, 1}});
  EXPECT_EQ(refusal(corpus(20, false), model(8, 12)),
            folder_.path("train.s") +
                ":5: 9 tokens with the end mark, but the encoder's learned positions end at 8 "
                "(model.encoder.max_positions); data.corpus.max_length: 7 would leave longer lines "
                "out of training");
  EXPECT_EQ(refusal(corpus(20, false), model(10, 9)),
            folder_.path("train.t") +
                ":6: 10 tokens with the end mark, but the decoder's learned positions end at 9 "
                "(model.decoder.max_positions); data.corpus.max_length: 8 would leave longer lines "
                "out of training");
  expect_trains(corpus(20, false), model(10, 10));
  expect_trains(corpus(7, false), model(8, 8));  // what the text advises
  write("train", {{3, 3}, {8, 3}});              // nothing left out
  EXPECT_EQ(refusal(corpus(20, false), model(8, 12)).find(folder_.path("train.s") + ":2: 9 "), 0u);
}

TEST_F(PositionsOfData, HeldOutTextToo) {
  write("train", {{3, 3}, {2, 2}});
  write("valid", {{1, 1}, {5, 2}});
  write("test", {{1, 1}, {}, {2, 6}});
  EXPECT_EQ(refusal(corpus(20), model(5, 9)),
            folder_.path("valid.s") +
                ":2: 6 tokens with the end mark, but the encoder's learned positions end at 5 "
                "(model.encoder.max_positions)");
  EXPECT_EQ(refusal(corpus(20), model(6, 6)),
            folder_.path("test.t") +
                ":3: 7 tokens with the end mark, but the decoder's learned positions end at 6 "
                "(model.decoder.max_positions)");
  expect_trains(corpus(20), model(6, 7));
}

TEST_F(PositionsOfData, TasksNameTheirLength) {
  EXPECT_EQ(refusal({}, model(6, 9)),
            "data.task.max_length: 6: a source of length 6 has 7 tokens with the end mark, but the "
            "encoder's learned positions end at 6 (model.encoder.max_positions)");
  EXPECT_EQ(refusal({"data.train_examples=50"}, model(9, 6)),
            "data.task.max_length: 6: the target of a source of length 6 has 7 tokens with the end "
            "mark, but the decoder's learned positions end at 6 (model.decoder.max_positions)");
  expect_trains({}, model(7, 7));
  // A model without limits reads anything.
  expect_trains({"data.task.max_length=40"}, {"train.steps=1"});
}

TEST_F(PositionsOfData, EachSplitIsLookedAtAlone) {
  Recipe recipe = tiny_recipe({"data.held_out.examples=1", "data.task.min_length=2"});
  std::unique_ptr<Dataset> data = make_dataset(recipe.data, 1, recipe.train.batch);
  // One held-out example has the shortest length; training knows the longest without drawing it.
  PositionLimits limits{.source = 5, .target = -1};
  EXPECT_NO_THROW(data->refuse_longer(Split::kValid, limits));
  EXPECT_NE(user_error([&] { data->refuse_longer(Split::kTrain, limits); }).find("a source of"),
            std::string::npos);
}

}  // namespace
}  // namespace lookback
