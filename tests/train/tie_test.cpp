#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>

#include "autograd/ops.h"
#include "core/files.h"
#include "core/log.h"
#include "core/safetensors.h"
#include "core/threads.h"
#include "support/text_folder.h"
#include "tiny_recipe.h"
#include "train/checkpoint.h"
#include "train/step.h"
#include "train/trainer.h"

// One table of word vectors in two or three places: it stays one through training and files, and
// its gradient is the sum over all of its uses.

namespace lookback {
namespace {

using Changes = std::vector<std::string>;

/// Models whose tables may be one: a recurrent output layer reads 6 units of the decoder's state and 6
/// of the encoder's.
Changes recurrent(const std::string& tie, const std::string& more = "") {
  return {"model.encoder={cell: gru, embedding: 12, hidden: 6" + more + "}",
          "model.decoder={cell: gru, embedding: 12, hidden: 6" + more + "}",
          "model.tie_embeddings=" + tie};
}
Changes transformer(const std::string& tie) {
  std::string side = "={type: transformer, width: 8, heads: 2, feed_forward: 16, layers: 1}";
  return {"model.encoder" + side, "model.decoder" + side, "model.attention={type: none}",
          "model.tie_embeddings=" + tie};
}
Changes joined(Changes a, const Changes& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

std::map<std::string, Variable> by_name(const Module& model) {
  std::map<std::string, Variable> out;
  for (const Module::Named& p : model.parameters()) out[p.name] = p.variable;
  return out;
}

class Tied : public ::testing::Test {
 protected:
  void SetUp() override {
    set_log_quiet(true);
    set_threads(1);
  }
  void TearDown() override {
    set_log_quiet(false);
    set_threads(available_cores());
  }
  TrainResult train_into(const std::string& folder, const Changes& changes,
                         TrainRun::Start start = TrainRun::Start::kFresh, int64_t stop_at = -1) {
    std::atomic<bool> stop{false};
    TrainRun run{.folder = folder,
                 .start = start,
                 .stop = &stop,
                 .on_start = {},
                 .on_progress = [&](const Progress& p) { stop = stop || p.step == stop_at; },
                 .on_validation = {}};
    return train(tiny_recipe(joined(changes, {"train.threads=1"})), run);
  }
  TextFolder folder_;
};

/// Moves one word's vector and sees what it moves: the table must be read where `tie` says so.
void expect_one_table(const EncoderDecoder& model, bool with_encoder) {
  std::map<std::string, Variable> parameters = by_name(model);
  int64_t tables = 0, words = parameters.at("decoder.output.bias").size(0);
  for (const auto& [name, variable] : parameters)
    tables += variable.rank() == 2 && variable.size(0) == words;
  EXPECT_EQ(tables, with_encoder ? 1 : 2);
  EXPECT_FALSE(parameters.contains("decoder.output.weight"));
  EXPECT_EQ(parameters.contains("decoder.embedding.weight"), !with_encoder);

  const Id word = 5, other = 6;
  Batch batch = make_source_batch(std::vector<std::vector<Id>>{{word, other}});
  auto look = [&](Id previous) {
    Memory memory = model.encode(batch.source, batch.source_lengths);
    Tensor states = memory.states.value().clone();
    return std::pair(
        states,
        model.step(std::vector<Id>{previous}, model.start(memory), memory).logits.value().clone());
  };
  auto [states, from_other] = look(other);
  auto [same, from_word] = look(word);
  Variable table =
      parameters.at(with_encoder ? "encoder.embedding.weight" : "decoder.embedding.weight");
  Tensor before = table.value().clone();
  Tensor row = table.leaf_value().rows(word, 1);
  for (int64_t i = 0; i < row.count(); ++i)
    row.data()[i] += static_cast<Real>(i % 3);  // a LayerNorm takes no notice of a constant
  auto [moved_states, moved_other] = look(other);
  auto [unused, moved_word] = look(word);
  EXPECT_EQ(moved_states.at({0, 0, 0}) != states.at({0, 0, 0}), with_encoder);
  EXPECT_NE(moved_other.at({0, word}), from_other.at({0, word})) << "the output layer reads it";
  EXPECT_NE(moved_word.at({0, other}), from_word.at({0, other})) << "the decoder's input reads it";
  if (!with_encoder) {
    EXPECT_EQ(moved_other.at({0, other}), from_other.at({0, other})) << "another word's row";
  }
  table.leaf_value().copy_from(before);
}

TEST_F(Tied, ModelsLearn) {
  for (const Changes& changes : {recurrent("decoder"), recurrent("all"), transformer("all")}) {
    SCOPED_TRACE(changes[0] + " " + changes.back());
    TrainResult result =
        train(tiny_recipe(joined(
                  changes, {"train.steps=250", "train.validate.every=250", "data.task.symbols=4",
                            "train.optimizer.lr=0.03", "data.task.max_length=3"})),
              {});
    EXPECT_LT(result.last.all.nll, 0.9) << "a guess has ln 5 = 1.6";
  }
}

TEST_F(Tied, OneTableStaysOneThroughTrainingAndFiles) {
  for (const char* tie : {"decoder", "all"})
    for (const Changes& changes : {recurrent(tie), transformer(tie)}) {
      SCOPED_TRACE(changes[0] + " " + changes.back());
      bool all = std::string(tie) == "all";
      std::string path = folder_.path(std::string("run") + tie + changes[0].substr(15, 4));
      TrainResult trained = train_into(path, changes);
      expect_one_table(*trained.model, all);
      TensorFile file = load_tensors(path + "/last.safetensors");
      EXPECT_EQ(file.tensors.size(), trained.model->parameters().size());

      LoadedModel loaded = load_model(path + "/last.safetensors");
      expect_one_table(*loaded.model, all);
      Batch batch = make_batch(trained.data->held_out(Split::kValid));
      Tensor ours = trained.model->forward(batch).value();
      Tensor theirs = loaded.model->forward(batch).value();
      EXPECT_TRUE(std::ranges::equal(ours.values(), theirs.values()));
    }
}

TEST_F(Tied, AResumedRunEqualsTheUnbrokenOne) {
  Changes changes = recurrent("all", ", dropout: 0.2");
  train_into(folder_.path("whole"), changes);
  EXPECT_EQ(train_into(folder_.path("broken"), changes, TrainRun::Start::kFresh, 6).step, 6);
  TrainResult resumed = train_into(folder_.path("broken"), changes, TrainRun::Start::kResume);
  expect_one_table(*resumed.model, true);
  for (const char* name : {"/best.safetensors", "/last.safetensors", "/state.safetensors"})
    EXPECT_EQ(read_file(folder_.path("whole") + name), read_file(folder_.path("broken") + name));
}

struct Pair {
  std::unique_ptr<EncoderDecoder> model;
  std::vector<Module::Named> parameters;
  std::vector<Batch> batches;

  explicit Pair(const Changes& changes) {
    Recipe recipe = tiny_recipe(changes);
    std::unique_ptr<Dataset> data = make_dataset(recipe.data, 1, recipe.train.batch);
    model = recipe.model(data->source_vocabulary().size(), data->target_vocabulary().size());
    model->initialize(1);
    parameters = model->parameters();
    batches = {make_batch(data->training_examples(0))};
  }
  std::map<std::string, Tensor> gradients(int64_t shards) const {
    StepResult result = forward_backward(*model, parameters, batches, {}, {.shards = shards});
    std::map<std::string, Tensor> out;
    for (size_t i = 0; i < parameters.size(); ++i)
      out[parameters[i].name] = result.gradients.tensors[i];
    return out;
  }
};

void expect_near(const Tensor& a, const Tensor& b, double tolerance, const std::string& what) {
  ASSERT_EQ(a.shape(), b.shape()) << what;
  for (int64_t i = 0; i < a.count(); ++i)
    ASSERT_NEAR(a.data()[i], b.data()[i], tolerance) << what << " " << i;
}

TEST_F(Tied, TheGradientIsTheSumOverAllUses) {
  Pair tied(recurrent("all")), apart(recurrent("none"));
  // The same model with three tables; a tied one is multiplied by sqrt(E) where it is looked up.
  const Real factor = std::sqrt(Real{12});
  std::map<std::string, Variable> ours = by_name(*tied.model), theirs = by_name(*apart.model);
  const std::string table = "encoder.embedding.weight";
  for (auto& [name, variable] : ours)
    if (name != table) theirs.at(name).leaf_value().copy_from(variable.value());
  Tensor scaled = ours.at(table).value().clone();
  theirs.at("decoder.output.weight").leaf_value().copy_from(scaled);
  for (Real& value : scaled.values()) value *= factor;
  theirs.at(table).leaf_value().copy_from(scaled);
  theirs.at("decoder.embedding.weight").leaf_value().copy_from(scaled);

  std::map<std::string, Tensor> one = tied.gradients(1), three = apart.gradients(1);
  Tensor sum = three.at("decoder.output.weight").clone();
  for (int64_t i = 0; i < sum.count(); ++i)
    sum.data()[i] +=
        factor * (three.at(table).data()[i] + three.at("decoder.embedding.weight").data()[i]);
  for (const auto& [name, gradient] : one)
    expect_near(gradient, name == table ? sum : three.at(name), 2e-6, name);
}

TEST_F(Tied, ShardsChangeTheGradientByRoundingAlone) {
  for (const Changes& changes : {recurrent("all"), transformer("all")}) {
    Pair pair(changes);
    std::map<std::string, Tensor> whole = pair.gradients(1);
    for (int64_t shards : {2, 3})
      for (const auto& [name, gradient] : pair.gradients(shards))
        expect_near(gradient, whole.at(name), 2e-6, name);
  }
}

/// A corpus of two languages that share a few words.
struct Languages {
  TextFolder folder;
  Languages() {
    std::string source, target;
    for (int i = 0; i < 60; ++i) {
      source += format("a{} b{} x{}\n", i % 3, i % 4, i % 5);
      target += format("x{} c{}\n", i % 5, i % 3);
    }
    for (const char* split : {"train", "valid"}) {
      folder.write(std::string(split) + ".s", source);
      folder.write(std::string(split) + ".t", target);
    }
  }
  Changes data(const std::string& more) const {
    auto pair = [&](const std::string& split) {
      return format("{}: {{source: {}, target: {}}}", split, folder.path(split + ".s"),
                    folder.path(split + ".t"));
    };
    return {"data.task=null", "data.same_length=null", "data.held_out=null",
            format("data.corpus={{{}, {}{}}}", pair("train"), pair("valid"), more)};
  }
};

TEST_F(Tied, TextNeedsOneVocabulary) {
  Languages text;
  Changes both = joined(recurrent("all"), text.data(", joint_vocabulary: true"));
  std::string path = folder_.path("joint");
  train_into(path, both);
  LoadedModel loaded = load_model(path);
  EXPECT_EQ(loaded.source, loaded.target);
  EXPECT_EQ(loaded.source.size(), kMarks + 15);
  EXPECT_NE(loaded.source.id("c1"), kUnknown);
  expect_one_table(*loaded.model, true);
  EXPECT_EQ(read_file(path + "/source.vocabulary.txt"), read_file(path + "/target.vocabulary.txt"));
  train_into(path, both, TrainRun::Start::kResume);

  EXPECT_EQ(user_error([&] { tiny_recipe(joined(recurrent("all"), text.data(""))); }),
            "--set model.tie_embeddings: \"all\" shares one table between "
            "source and target, but each side has a vocabulary of its own; set "
            "data.corpus.joint_vocabulary: true (a task has the vocabularies that it has), or use "
            "tie_embeddings: decoder");
  EXPECT_NO_THROW(tiny_recipe(joined(recurrent("decoder"), text.data(""))));
}

TEST_F(Tied, AModelOfTwoVocabulariesIsNoneOfOne) {
  Languages text;
  std::string path = folder_.path("two");
  train_into(path, text.data(""));
  EXPECT_EQ(user_error([&] { load_model(path, {"data.corpus.joint_vocabulary=true"}); }),
            path +
                "/best.safetensors: the data of its config has one vocabulary for both sides, but "
                "the model's two differ (16 and 12 tokens)");
}

}  // namespace
}  // namespace lookback
