#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "core/safetensors.h"
#include "support/registered.h"
#include "support/text_folder.h"
#include "train/checkpoint.h"

// What every model must hold beside what model_test.cpp asks of them, and that nothing that is
// registered is left out.

namespace lookback {
namespace {

using testing::all_models;
using testing::Built;

constexpr int64_t kWords = 11;

std::vector<Example> examples() {
  return {{{5, 6, 7}, {4, 8}}, {{10}, {9, 9, 4, 5}}, {{4, 5, 6, 7, 8}, {}}, {{}, {7, 6, 10}}};
}

bool same(const Tensor& a, const Tensor& b) {
  return a.shape() == b.shape() && std::ranges::equal(a.values(), b.values());
}

TEST(ModelContract, TheCollectionHoldsEverythingThatIsRegistered) {
  testing::Refusals refusals;
  std::set<std::string> seen;
  std::vector<Built> models = testing::all_recurrent({});
  for (Built& built : testing::all_combinations({}, &refusals)) models.push_back(std::move(built));
  for (const Built& built : models)
    for (const char* key :
         {"encoder: {type: ", "decoder: {type: ", "attention: {type: ", "cell: "}) {
      size_t at = built.yaml.find(key);
      if (at == std::string::npos) continue;
      size_t begin = at + std::string(key).size();
      seen.insert(key + built.yaml.substr(begin, built.yaml.find_first_of(",}", begin) - begin));
    }
  auto expect_all = [&](const std::string& key, const std::vector<std::string>& names) {
    for (const std::string& name : names) EXPECT_TRUE(seen.contains(key + name)) << key << name;
  };
  expect_all("encoder: {type: ", encoders().names());
  expect_all("decoder: {type: ", decoders().names());
  expect_all("attention: {type: ", attentions().names());
  expect_all("cell: ", cells().names());
  for (const std::string& reason : testing::reasons_to_refuse())
    EXPECT_GT(refusals[reason], 0) << "nothing is refused because " << reason;
}

TEST(ModelContract, ResultsHaveTheirShapes) {
  Batch batch = make_batch(examples());
  for (const Built& built : all_models()) {
    SCOPED_TRACE(built.yaml);
    Memory memory = built.model->encode(batch.source, batch.source_lengths);
    EXPECT_EQ(memory.batch(), 4);
    EXPECT_EQ(memory.states.size(1), batch.source.columns);
    EXPECT_EQ(memory.mask.rows(), 4);
    EXPECT_EQ(memory.mask.columns(), batch.source.columns);
    for (int64_t b = 0; b < 4; ++b)
      for (int64_t s = 0; s < batch.source.columns; ++s)
        EXPECT_EQ(memory.mask.at(b, s), s < batch.source_lengths[static_cast<size_t>(b)]);
    for (const Variable& part : memory.prepared) EXPECT_EQ(part.size(0), 4);
    Step step = built.model->step(std::vector<Id>(4, kBegin), built.model->start(memory), memory);
    EXPECT_EQ(step.logits.shape(), Shape({4, kWords}));
    for (const Variable& part : step.state.parts) EXPECT_EQ(part.size(0), 4);
    EXPECT_EQ(built.model->forward(batch).shape(), Shape({4, batch.target.columns, kWords}));
  }
}

TEST(ModelContract, TheMemoryIsZeroAtPadding) {
  Batch batch = make_batch(examples());
  for (const Built& built : all_models()) {
    SCOPED_TRACE(built.yaml);
    Memory memory = built.model->encode(batch.source, batch.source_lengths);
    for (int64_t b = 0; b < 4; ++b)
      for (int64_t s = batch.source_lengths[static_cast<size_t>(b)]; s < batch.source.columns; ++s)
        for (int64_t d = 0; d < memory.states.size(2); ++d)
          ASSERT_EQ(memory.states.value().at({b, s, d}), 0) << b << " " << s;
  }
}

TEST(ModelContract, WithoutDropoutTrainingIsEvaluation) {
  Batch batch = make_batch(examples());
  for (const Built& built : all_models()) {
    SCOPED_TRACE(built.yaml);
    Pass training{.training = true, .key = {.seed = 7, .step = 3}};
    EXPECT_TRUE(
        same(built.model->forward(batch).value(), built.model->forward(batch, training).value()));
  }
}

TEST(ModelContract, SentencesTakenOutOfTheMemoryGoOnAsBefore) {
  Batch batch = make_batch(examples());
  const std::vector<int64_t> chosen{2, 0, 0, 3};
  for (const Built& built : all_models()) {
    SCOPED_TRACE(built.yaml);
    Memory memory = built.model->encode(batch.source, batch.source_lengths);
    Step first = built.model->step(std::vector<Id>{4, 5, 6, 7}, built.model->start(memory), memory);
    Step all = built.model->step(std::vector<Id>{8, 9, 10, 4}, first.state, memory);
    Step some = built.model->step(std::vector<Id>{10, 8, 8, 4}, first.state.take(chosen),
                                  memory.take(chosen));
    for (size_t row = 0; row < chosen.size(); ++row)
      for (int64_t v = 0; v < kWords; ++v)
        ASSERT_NEAR(some.logits.value().at({static_cast<int64_t>(row), v}),
                    all.logits.value().at({chosen[row], v}), 1e-6);
  }
}

TEST(ModelContract, AFileKeepsEveryBit) {
  Batch batch = make_batch(examples());
  TextFolder folder;
  std::string path = folder.path("model.safetensors");
  for (const Built& built : all_models({.dropout = 0.25})) {
    SCOPED_TRACE(built.yaml);
    Config config = Config::from_text(
        "data: {task: {type: copy, symbols: 7}}\ntrain: {steps: 1}\n" + built.yaml, "test.yaml");
    Config resolved = read_recipe(config).resolved;
    Vocabulary words({"a", "b", "c", "d", "e", "f", "g"});
    save_model(
        path,
        {.model = built.model.get(), .config = &resolved, .source = &words, .target = &words});
    LoadedModel loaded = load_model(path);
    EXPECT_TRUE(same(built.model->forward(batch).value(), loaded.model->forward(batch).value()));
    EXPECT_EQ(loaded.config.yaml(), resolved.yaml());
  }
}

}  // namespace
}  // namespace lookback
