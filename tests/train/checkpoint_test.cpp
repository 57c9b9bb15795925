#include "train/checkpoint.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "core/log.h"
#include "core/safetensors.h"
#include "core/threads.h"
#include "support/text_folder.h"
#include "tiny_recipe.h"
#include "train/evaluate.h"
#include "train/trainer.h"

namespace lookback {
namespace {

class CheckpointTest : public ::testing::Test {
 protected:
  TextFolder folder_;
  Recipe recipe_ = tiny_recipe({"train.steps=5"});
  TrainResult run_ = train(recipe_, {});

  std::string save(const std::string& name) {
    save_model(folder_.path(name), {.model = run_.model.get(),
                                    .config = &recipe_.resolved,
                                    .source = &run_.data->source_vocabulary(),
                                    .target = &run_.data->target_vocabulary(),
                                    .step = run_.step});
    return folder_.path(name);
  }
};

TEST_F(CheckpointTest, a_model_is_one_file) {
  LoadedModel loaded = load_model(save("moved.safetensors"));
  EXPECT_EQ(loaded.step, 5);
  EXPECT_EQ(loaded.config.yaml(), recipe_.resolved.yaml());
  EXPECT_EQ(loaded.source, run_.data->source_vocabulary());
  const std::vector<Example>& test = run_.data->held_out(Split::kTest);
  EXPECT_EQ(evaluate(*loaded.model, test).all.nll, evaluate(*run_.model, test).all.nll);
}

TEST_F(CheckpointTest, overrides_reach_the_config) {
  std::string path = save("m.safetensors");
  LoadedModel loaded = load_model(path, {"data.task.max_length=9"});
  auto data =
      make_dataset(loaded.recipe.data, 1, loaded.recipe.train.batch, loaded.source, loaded.target);
  EXPECT_EQ(evaluate(*loaded.model, data->held_out(Split::kTest)).by_length.back().to, 9);
  EXPECT_NE(user_error([&] { load_model(path, {"data.task.max_lenght=9"}); }).find("did you mean"),
            std::string::npos);
}

TEST_F(CheckpointTest, files_that_are_no_model_are_refused) {
  EXPECT_NE(
      user_error([&] { load_model("/nowhere/m.safetensors"); }).find("/nowhere/m.safetensors"),
      std::string::npos);
  EXPECT_EQ(
      user_error([&] { load_model(folder_.path("")); }),
      folder_.path("") + ": holds no run: neither best.safetensors nor last.safetensors is there");
  std::string text = folder_.write("notes.txt", "this is no model at all, but it is long enough");
  EXPECT_EQ(user_error([&] { load_model(text); }).find(text), 0u);
  std::string foreign = folder_.path("foreign.safetensors");
  save_tensors(foreign, {{"weight", Tensor::zeros({2, 2})}}, {{"format", "pt"}});
  EXPECT_EQ(user_error([&] { load_model(foreign); }),
            foreign +
                ": a safetensors file, but not of a lookback model: its metadata has no format: "
                "lookback");
}

TEST_F(CheckpointTest, tensors_must_be_the_models_own) {
  std::string path = save("m.safetensors");
  TensorFile file = load_tensors(path);
  auto rewritten = [&](auto&& change) {
    std::vector<NamedTensor> tensors = file.tensors;
    change(tensors);
    std::string other = folder_.path("changed.safetensors");
    save_tensors(other, tensors, file.metadata);
    return user_error([&] { load_model(other); });
  };
  EXPECT_NE(rewritten([](auto& t) { t.pop_back(); }).find(file.tensors.back().name),
            std::string::npos);
  EXPECT_NE(rewritten([](auto& t) {
              t.push_back({"decoder.extra", Tensor::zeros({1})});
            }).find("decoder.extra belongs to no parameter"),
            std::string::npos);
  EXPECT_NE(rewritten([](auto& t) {
              t[0].tensor = Tensor::zeros({3, 3});
            }).find("has shape (3, 3), but the model's is (12, 6)"),
            std::string::npos);
}

TEST_F(CheckpointTest, a_refused_file_leaves_the_model_as_it_was) {
  Tensor before = run_.model->parameters()[0].variable.value().clone();
  std::vector<NamedTensor> tensors;
  for (const Module::Named& p : run_.model->parameters())
    tensors.push_back({p.name, Tensor::zeros(p.variable.shape())});
  tensors.back().tensor = Tensor::zeros({1});
  save_tensors(folder_.path("bad.safetensors"), tensors, {});
  user_error([&] { load_parameters(*run_.model, load_tensors(folder_.path("bad.safetensors"))); });
  EXPECT_TRUE(std::equal(before.values().begin(), before.values().end(),
                         run_.model->parameters()[0].variable.value().values().begin()));
}

std::string recipe_error(const std::vector<std::string>& changes) {
  return user_error([&] { tiny_recipe(changes); });
}

TEST(Recipe, every_default_is_written_and_reads_back_the_same) {
  Recipe first = tiny_recipe();
  std::string yaml = first.resolved.yaml();
  for (const char* key :
       {"betas", "eps", "clip_norm", "dropout", "initial_state", "patience", "max_length"})
    EXPECT_NE(yaml.find(key), std::string::npos) << key;
  EXPECT_EQ(read_recipe(Config::from_text(yaml, "resolved")).resolved.yaml(), yaml);
}

TEST(Recipe, automatic_shards_follow_cores_and_batch_and_are_recorded) {
  auto shards = [](const std::string& batch) {
    Recipe recipe = tiny_recipe({"train.shards=auto", "train.batch=" + batch});
    EXPECT_EQ(recipe.resolved.find("train")->find("shards")->scalar(),
              std::to_string(recipe.train.shards));
    return recipe.train.shards;
  };
  EXPECT_EQ(shards("{size: 64}"), std::min(64, available_cores()));
  EXPECT_EQ(shards("{size: 1}"), 1);
  EXPECT_EQ(shards("{size: 7}"), std::min(7, available_cores()));
  EXPECT_EQ(shards("{size: 200, unit: tokens}"), 1);
}

TEST(Recipe, a_misspelt_key_is_named_before_what_is_missing_for_it) {
  auto error = [](const std::string& from, const std::string& to) {
    std::string text = tiny_recipe().resolved.yaml();
    size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    return user_error(
        [&] { read_recipe(Config::from_text(text.replace(at, from.size(), to), "a.yaml")); });
  };
  EXPECT_NE(error("hidden: 8", "hiden: 8").find("hiden: unknown key; did you mean \"hidden\"?"),
            std::string::npos);
  EXPECT_NE(error("steps: 20", "stesp: 20").find("did you mean \"steps\"?"), std::string::npos);
  EXPECT_NE(error("train:", "trian:").find("did you mean \"train\"?"), std::string::npos);
  EXPECT_NE(error("type: copy", "tpye: copy").find("did you mean \"type\"?"), std::string::npos);
  EXPECT_NE(error("data:", "dat:").find("did you mean \"data\"?"), std::string::npos);
}

TEST(Recipe, another_type_on_the_command_line_leaves_the_old_ones_options_out) {
  set_log_quiet(true);
  std::string text = tiny_recipe().resolved.yaml();
  for (std::string change :
       {"model.attention.type=none", "train.optimizer.type=sgd", "train.schedule.type=cosine"}) {
    Config config = Config::from_text(text, "a.yaml");
    config.set(change);
    Recipe recipe = read_recipe(config);
    EXPECT_EQ(recipe.resolved.yaml().find("betas") == std::string::npos,
              change.find("sgd") != std::string::npos);
    config.set(change.substr(0, change.rfind('.')) + ".wrong=1");
    EXPECT_NE(user_error([&] { read_recipe(config); }).find("wrong: unknown key"),
              std::string::npos);
  }
  set_log_quiet(false);
}

TEST(Recipe, a_null_takes_a_key_away) {
  Recipe recipe = tiny_recipe({"train.steps=null", "train.epochs=3", "data.train_examples=100"});
  EXPECT_EQ(recipe.train.epochs, 3);
}

TEST(Recipe, mistakes_are_named_with_their_place) {
  EXPECT_EQ(recipe_error({"model.encoder.hiden=4"}).find("--set model.encoder.hiden: "), 0u);
  EXPECT_NE(recipe_error({"model.encoder.hiden=4"}).find("did you mean \"hidden\"?"),
            std::string::npos);
  EXPECT_NE(recipe_error({"train.epochs=3"}).find("either steps or epochs"), std::string::npos);
  EXPECT_NE(recipe_error({"name=a/b"}).find("folder's name"), std::string::npos);
  EXPECT_NE(recipe_error({"model.attention.type=badanau"}).find("did you mean \"bahdanau\"?"),
            std::string::npos);
  EXPECT_NE(recipe_error({"model.decoder.hidden=9"}).find("initial_state: bridge"),
            std::string::npos);
  EXPECT_NE(recipe_error({"train.optimizer.betas=[0.9]"}).find("must be two numbers"),
            std::string::npos);
  EXPECT_NE(recipe_error({"train.threads=0"}).find("must be"), std::string::npos);
  EXPECT_NE(recipe_error({"train.shards=two"}).find("train.shards"), std::string::npos);
  EXPECT_NE(recipe_error({"model.encoder.dropout=1"}).find("dropout"), std::string::npos);
}

}  // namespace
}  // namespace lookback
