#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <ostream>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "core/threads.h"
#include "support/sanitized.h"
#include "train/recipe.h"
#include "train/step.h"

namespace lookback {
namespace {

/// A config of configs/, and how it is made small enough to learn one batch by heart in a test.
struct Case {
  std::string file;
  std::vector<std::string> small = {};
  int64_t steps = 300;
};
void PrintTo(const Case& c, std::ostream* out) {
  *out << c.file;
}  // found by GoogleTest

const std::vector<std::string> kShort = {"data.task.max_length=8"};
const std::vector<std::string> kNarrow = {"data.task.max_length=8",  "model.encoder.embedding=32",
                                          "model.encoder.hidden=64", "model.decoder.embedding=32",
                                          "model.decoder.hidden=64", "train.optimizer.lr=5e-3"};
// Dropout keeps a model from learning anything by heart.
const std::vector<std::string> kNarrowText = {
    "data.corpus.max_vocabulary=500", "model.encoder.embedding=32", "model.encoder.hidden=32",
    "model.encoder.dropout=0",        "model.decoder.embedding=32", "model.decoder.hidden=64",
    "model.decoder.dropout=0",        "train.optimizer.lr=1e-2"};

const std::vector<std::string> kNarrowTransformer = {
    "data.corpus.max_vocabulary=500", "model.encoder.width=32",  "model.encoder.feed_forward=64",
    "model.encoder.layers=1",         "model.encoder.dropout=0", "model.decoder.width=32",
    "model.decoder.feed_forward=64",  "model.decoder.layers=1",  "model.decoder.dropout=0",
    "train.optimizer.lr=3e-3"};

const std::vector<std::string> kNarrowTransformerTask = {
    "data.task.max_length=8", "model.encoder.width=64", "model.encoder.feed_forward=128",
    "model.encoder.layers=1", "model.decoder.width=64", "model.decoder.feed_forward=128",
    "model.decoder.layers=1", "train.optimizer.lr=3e-3"};

const std::vector<std::string> kNear = {"data.task.min_length=3", "data.task.max_length=8"};
const std::vector<std::string> kSmallToy = {"data.task.max_length=8", "model.encoder.hidden=64",
                                            "model.decoder.hidden=64"};

// Every file of configs/ has a line here.
const std::vector<Case> kCases = {
    {"agreement_attention.yaml", kNear},
    {"agreement_fixed.yaml", kNear},
    {"bench/gru_bahdanau.yaml", kNarrow},
    {"bench/gru_fixed.yaml", kNarrow},
    {"bench/lstm_fixed.yaml", kNarrow},
    {"bench/lstm_luong.yaml", kNarrow},
    {"bench/toy.yaml", kNarrow},
    {"bench/transformer_d256.yaml", kNarrowTransformerTask},
    {"bench/transformer_d512.yaml", kNarrowTransformerTask},
    {"bench/transformer_long.yaml", kNarrowTransformerTask},
    {"copy_bahdanau.yaml", kShort},
    {"copy_fixed.yaml", kShort},
    {"copy_luong_concat.yaml", kShort},
    {"copy_luong_dot.yaml", kShort},
    {"copy_luong_general.yaml", kShort},
    {"copy_scaled_dot.yaml", kShort},
    {"copy_token.yaml", kShort},
    {"copy_transformer.yaml", kShort},
    {"dates_bahdanau.yaml"},
    {"multi30k_bahdanau.yaml", kNarrowText, 150},
    {"multi30k_fixed.yaml", kNarrowText, 150},
    {"multi30k_transformer.yaml", kNarrowTransformer, 150},
    {"recall_luong_dot.yaml", {"data.task.max_pairs=3"}},
    {"reverse_bahdanau.yaml", kShort},
    {"sort_fixed.yaml", kShort},
    {"toy_translation_attention.yaml", kSmallToy},
    {"toy_translation_fixed.yaml", kSmallToy},
};

const std::string kFolder = std::string(LOOKBACK_SOURCE_DIR) + "/configs/";

/// Dataset, model and optimiser as a config describes them.
struct Learner {
  explicit Learner(const Recipe& recipe)
      : data(make_dataset(recipe.data, recipe.seed, recipe.train.batch)),
        model(recipe.model(data->source_vocabulary().size(), data->target_vocabulary().size())) {
    model->initialize(recipe.seed);
    parameters = model->parameters();
    optimizer = recipe.train.optimizer.make(parameters);
  }

  /// One step of training at a constant rate; the nll before it.
  double step(const Recipe& recipe, const Batch& batch, uint64_t number) {
    Pass pass{.training = true, .key = {.seed = recipe.seed, .step = number}};
    StepResult result = forward_backward(*model, parameters, {batch}, pass, {.shards = 1});
    EXPECT_TRUE(result.gradients.not_finite.empty());
    optimizer->step(result.gradients, recipe.train.optimizer.rate,
                    clip_factor(result.gradients.norm, recipe.train.clip_norm));
    return result.nll;
  }

  std::unique_ptr<Dataset> data;
  std::unique_ptr<EncoderDecoder> model;
  std::vector<Module::Named> parameters;
  std::unique_ptr<Optimizer> optimizer;
};

class ConfigFile : public ::testing::TestWithParam<Case> {
 protected:
  // Small work on one thread: teams would only get in the way of tests that run beside this one.
  void SetUp() override { set_threads(1); }
  void TearDown() override { set_threads(available_cores()); }

  /// Reads the config; empty text where its corpus is at hand, else the file that is missing.
  std::string read(const std::vector<std::string>& changes) {
    Config config = Config::from_file(kFolder + GetParam().file);
    for (const std::string& change : changes) config.set(change);
    recipe_ = read_recipe(config);
    if (auto* corpus = std::get_if<CorpusOptions>(&recipe_.data))
      for (const TextPair* pair : {&corpus->train, &corpus->valid, &corpus->test})
        for (const std::string& path : {pair->source, pair->target})
          if (!path.empty() && !std::filesystem::exists(path)) return path;
    return "";
  }

  Recipe recipe_;
};

TEST_P(ConfigFile, IsBuiltAndStepped) {
  const std::string file = GetParam().file;
  if (testing::kSanitized && (file.starts_with("bench/") || file.starts_with("multi30k")))
    GTEST_SKIP() << "minutes for ops that smaller models run too";
  if (std::string missing = read({}); !missing.empty()) GTEST_SKIP() << "needs " << missing;
  Learner learner(recipe_);
  EXPECT_GT(learner.data->held_out(Split::kValid).size(), 0u);
  // A model that knows nothing gives every token of the vocabulary about the same probability.
  double uniform = std::log(static_cast<double>(learner.data->target_vocabulary().size()));
  for (uint64_t step = 0; step < 2; ++step) {
    Batch batch = make_batch(learner.data->training_examples(static_cast<int64_t>(step)));
    double nll = learner.step(recipe_, batch, step);
    EXPECT_LT(nll, uniform + 0.5);
    // After one step some have learned already.
    EXPECT_TRUE(step > 0 || nll > uniform - 0.5) << nll;
  }
}

TEST_P(ConfigFile, LearnsOneBatchByHeart) {
  if (std::string missing = read(GetParam().small); !missing.empty())
    GTEST_SKIP() << "needs " << missing;
  Learner learner(recipe_);
  std::vector<Example> examples;
  for (int64_t step = 0; examples.size() < 4; ++step)  // one each of four batches: other lengths
    examples.push_back(learner.data->training_examples(step).front());
  Batch batch = make_batch(examples);
  double nll = 0;
  for (int64_t step = 0; step < GetParam().steps; ++step)
    nll = learner.step(recipe_, batch, static_cast<uint64_t>(step));
  EXPECT_LT(nll, 0.05) << "nats a token after " << GetParam().steps << " steps";
}

INSTANTIATE_TEST_SUITE_P(Configs, ConfigFile, ::testing::ValuesIn(kCases),
                         [](const ::testing::TestParamInfo<Case>& info) {
                           std::string name = info.param.file.substr(0, info.param.file.find('.'));
                           std::replace(name.begin(), name.end(), '/', '_');
                           return name;
                         });

TEST(Configs, EveryFileIsTested) {
  std::set<std::string> files, tested;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(kFolder))
    if (entry.path().extension() == ".yaml" && entry.path().parent_path().filename() != "studies")
      files.insert(std::filesystem::relative(entry.path(), kFolder).string());
  for (const Case& c : kCases) tested.insert(c.file);
  EXPECT_EQ(files, tested);
}

}  // namespace
}  // namespace lookback
