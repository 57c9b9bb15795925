#include "train/trainer.h"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>

#include "core/files.h"
#include "core/json.h"
#include "core/log.h"
#include "core/safetensors.h"
#include "core/threads.h"
#include "support/text_folder.h"
#include "tiny_recipe.h"
#include "train/checkpoint.h"
#include "train/run_folder.h"

namespace lookback {
namespace {

namespace fs = std::filesystem;

/// metrics.jsonl without what depends on the clock.
std::vector<Json> metrics(const std::string& folder) {
  std::vector<Json> out;
  for (const std::string& line : read_lines(folder + "/metrics.jsonl")) {
    Json entry = parse_json(line, folder);
    entry.erase("elapsed_s");
    entry.erase("tokens_per_second");
    out.push_back(entry);
  }
  return out;
}

/// Trains into a folder; with `stop_at`, as if a signal had come in that step.
TrainResult train_into(const std::string& folder, const Recipe& recipe,
                       TrainRun::Start start = TrainRun::Start::kFresh, int64_t stop_at = -1) {
  std::atomic<bool> stop{false};
  TrainRun run;
  run.folder = folder;
  run.start = start;
  run.stop = &stop;
  run.on_progress = [&](const Progress& p) { stop = stop || p.step == stop_at; };
  return train(recipe, run);
}

void expect_same_run(const std::string& a, const std::string& b) {
  for (const char* name :
       {"best.safetensors", "last.safetensors", "state.safetensors", "config.yaml"})
    EXPECT_EQ(read_file(a + "/" + name), read_file(b + "/" + name)) << name;
  EXPECT_EQ(metrics(a), metrics(b));
}

class TrainerTest : public ::testing::Test {
 protected:
  void SetUp() override { set_log_quiet(true); }
  void TearDown() override { set_log_quiet(false); }
  TextFolder folder_;
};

/// Everything that a resumed run could forget: moments, dropout, accumulation, smoothing, the best
/// so far.
const std::vector<std::string> kRich = {"model.encoder.dropout=0.2", "model.decoder.dropout=0.1",
                                        "train.accumulate=2", "train.label_smoothing=0.1"};

TEST_F(TrainerTest, a_resumed_run_equals_the_unbroken_one) {
  for (std::string optimizer : {"{type: adam, lr: 0.01}", "{type: sgd, lr: 0.5, momentum: 0.9}"}) {
    std::vector<std::string> changes = kRich;
    changes.push_back("train.optimizer=" + optimizer);
    Recipe recipe = tiny_recipe(changes);
    std::string whole = folder_.path("whole" + optimizer.substr(7, 3)),
                broken = folder_.path("broken" + optimizer.substr(7, 3));
    train_into(whole, recipe);
    TrainResult first = train_into(broken, recipe, TrainRun::Start::kFresh, 6);
    EXPECT_TRUE(first.interrupted);
    EXPECT_EQ(first.step, 6);
    TrainResult second = train_into(broken, recipe, TrainRun::Start::kResume, 12);
    EXPECT_EQ(second.step, 12);
    EXPECT_FALSE(train_into(broken, recipe, TrainRun::Start::kResume).interrupted);
    expect_same_run(whole, broken);
  }
}

TEST_F(TrainerTest, a_killed_run_resumes_from_its_last_state) {
  Recipe recipe = tiny_recipe(kRich);
  std::string whole = folder_.path("whole"), killed = folder_.path("killed");
  train_into(whole, recipe);
  train_into(killed, recipe, TrainRun::Start::kFresh, 9);
  fs::copy(killed + "/state.safetensors", killed + "/kept");
  // It went on past its state, and died in the middle of a line.
  train_into(killed, recipe, TrainRun::Start::kResume, 15);
  fs::rename(killed + "/kept", killed + "/state.safetensors");
  std::ofstream(killed + "/metrics.jsonl", std::ios::app) << "{\"event\":\"train\",\"st";
  train_into(killed, recipe, TrainRun::Start::kResume);
  expect_same_run(whole, killed);
}

TEST_F(TrainerTest, a_run_killed_before_its_first_validation_resumes_from_the_start) {
  Recipe recipe = tiny_recipe(kRich);
  std::string whole = folder_.path("whole"), killed = folder_.path("killed");
  train_into(whole, recipe);
  fs::create_directory(killed);
  // What stands in a folder after the first line of progress.
  TrainRun run;
  run.folder = folder_.path("start");
  run.on_progress = [&](const Progress&) {
    for (const char* name : {"config.yaml", "state.safetensors", "metrics.jsonl"})
      if (!fs::exists(killed + "/" + name)) fs::copy(run.folder + "/" + name, killed + "/" + name);
  };
  train(recipe, run);
  train_into(killed, recipe, TrainRun::Start::kResume);
  expect_same_run(whole, killed);
}

TEST_F(TrainerTest, one_seed_gives_one_result_on_any_number_of_threads) {
  train_into(folder_.path("a"), tiny_recipe({"train.threads=1"}));
  train_into(folder_.path("b"), tiny_recipe({"train.threads=2"}));
  train_into(folder_.path("c"), tiny_recipe({"train.threads=2", "seed=4"}));
  EXPECT_EQ(metrics(folder_.path("a")), metrics(folder_.path("b")));
  EXPECT_NE(metrics(folder_.path("a")), metrics(folder_.path("c")));
  TensorFile a = load_tensors(folder_.path("a/last.safetensors")),
             b = load_tensors(folder_.path("b/last.safetensors"));
  for (const NamedTensor& t : a.tensors) {
    std::span<const Real> x = t.tensor.values(), y = b.get(t.name).values();
    EXPECT_TRUE(std::equal(x.begin(), x.end(), y.begin(), y.end())) << t.name;
  }
}

TEST_F(TrainerTest, metrics_have_the_fields_that_are_promised) {
  train_into(folder_.path("run"), tiny_recipe());
  std::vector<std::string> lines = read_lines(folder_.path("run/metrics.jsonl"));
  int trained = 0, validated = 0;
  for (const std::string& text : lines) {
    Json line = parse_json(text, "metrics");
    bool train = line["event"] == "train";
    ++(train ? trained : validated);
    for (const char* key : {"step", "nll", "elapsed_s"}) EXPECT_TRUE(line.contains(key)) << text;
    for (const char* key : {"loss", "lr", "grad_norm", "tokens_per_second"})
      EXPECT_EQ(line.contains(key), train) << key;
    for (const char* key : {"perplexity", "token_accuracy", "sequence_accuracy"})
      EXPECT_EQ(line.contains(key), !train) << key;
  }
  EXPECT_EQ(trained, 7);  // steps 3, 6, ..., 18 and the last
  EXPECT_EQ(validated, 4);
}

TEST_F(TrainerTest, the_best_checkpoint_is_the_best_validation) {
  std::string path = folder_.path("run");
  TrainResult result =
      train_into(path, tiny_recipe({"train.validate.metric=nll", "train.steps=40"}));
  double best = INFINITY;
  int64_t best_step = 0;
  for (const Json& line : metrics(path))
    if (line["event"] == "validate" && line["nll"] < best) {
      best = line["nll"];
      best_step = line["step"];
    }
  EXPECT_EQ(result.best_step, best_step);
  LoadedModel model = load_model(path);
  EXPECT_EQ(model.step, best_step);
  EXPECT_DOUBLE_EQ(evaluate(*model.model, result.data->held_out(Split::kValid)).all.nll, best);
}

TEST_F(TrainerTest, patience_ends_a_run_that_gets_no_better) {
  // With rate 0 no validation beats the first.
  TrainResult result = train_into(
      folder_.path("run"),
      tiny_recipe({"train.optimizer.lr=0", "train.steps=500", "train.validate.patience=3"}));
  EXPECT_EQ(result.step, 20);
  EXPECT_EQ(result.best_step, 5);
}

TEST_F(TrainerTest, a_step_whose_gradient_is_not_finite_is_skipped_and_named) {
  std::string path = folder_.path("run");
  // The first step throws the weights past the largest number.
  Recipe recipe =
      tiny_recipe({"train.optimizer={type: sgd, lr: 1e39}", "train.clip_norm=0", "train.steps=10",
                   "train.schedule={type: constant}", "train.log_every=1"});
  std::string said;
  try {
    train_into(path, recipe);
  } catch (const UserError&) {
    FAIL() << "a run that failed is no mistake of the user's";
  } catch (const Error& error) {
    said = error.what();
  }
  EXPECT_EQ(said.find("training stopped at step 5: the validation nll is not finite"), 0u) << said;
  std::string log = read_file(path + "/log.txt");
  EXPECT_NE(log.find("skipped, the gradient is not finite in "), std::string::npos) << log;
  EXPECT_NE(log.find("decoder."), std::string::npos) << "no parameter is named";
  // A report over skipped steps alone has no loss to tell; 0 would look perfect.
  Json last = metrics(path).back();
  for (const Json& line : metrics(path))
    if (line["event"] == "train") last = line;
  EXPECT_TRUE(last["nll"].is_null()) << last;
  EXPECT_FALSE(fs::exists(path + "/best.safetensors")) << "weights that ran away are no best";
}

TEST_F(TrainerTest, one_process_at_a_time_trains_in_a_folder) {
  std::string path = folder_.path("run");
  Recipe recipe = tiny_recipe({"train.steps=5"});
  train_into(path, recipe);
  RunFolder held(path, TrainRun::Start::kResume);
  for (TrainRun::Start start : {TrainRun::Start::kResume, TrainRun::Start::kOverwrite})
    EXPECT_EQ(
        user_error([&] { train_into(path, recipe, start); }),
        path + ": another process is training in this folder; give another --run, or wait for it");
  EXPECT_TRUE(fs::exists(path + "/last.safetensors"));
}

TEST_F(TrainerTest, a_run_cannot_be_resumed_to_fewer_steps_than_it_made) {
  std::string path = folder_.path("run");
  train_into(path, tiny_recipe());
  EXPECT_EQ(user_error([&] {
              train_into(path, tiny_recipe({"train.steps=5"}), TrainRun::Start::kResume);
            }),
            path + ": this run has made 20 steps already, more than the 5 asked for");
}

TEST_F(TrainerTest, what_cannot_be_replaced_is_refused_before_anything_is_lost) {
  std::string path = folder_.path("run");
  train_into(path, tiny_recipe());
  fs::remove(path + "/log.txt");
  fs::create_directory(path + "/log.txt");
  EXPECT_EQ(user_error([&] { train_into(path, tiny_recipe(), TrainRun::Start::kOverwrite); }),
            path + "/log.txt: is a folder, where the run's file of that name belongs");
  EXPECT_TRUE(fs::exists(path + "/config.yaml"));
}

TEST_F(TrainerTest, models_without_a_config_are_not_mixed_into_a_new_run) {
  std::string path = folder_.path("run");
  train_into(path, tiny_recipe());
  fs::remove(path + "/config.yaml");
  EXPECT_NE(user_error([&] { train_into(path, tiny_recipe()); }).find("holds a run already"),
            std::string::npos);
}

TEST_F(TrainerTest, a_folder_that_holds_a_run_is_refused) {
  std::string path = folder_.path("run");
  Recipe recipe = tiny_recipe({"train.steps=5"});
  EXPECT_EQ(
      user_error([&] { train_into(path, recipe, TrainRun::Start::kResume); }),
      path +
          ": holds no state to resume from (no state.safetensors); train without --resume first");
  EXPECT_FALSE(fs::exists(path));
  train_into(path, recipe);
  std::string before = read_file(path + "/last.safetensors");
  EXPECT_EQ(user_error([&] { train_into(path, tiny_recipe({"seed=9"})); }),
            path +
                ": holds a run already; give --resume to go on with it, --overwrite to replace it, "
                "or another --run");
  EXPECT_EQ(read_file(path + "/last.safetensors"), before);
  EXPECT_EQ(user_error([&] {
              train_into(path, tiny_recipe({"model.encoder.hidden=8", "seed=9"}),
                         TrainRun::Start::kResume);
            }),
            path +
                "/config.yaml: the run was started with another seed; resume with the config it "
                "was started "
                "with, or start a new run");
  EXPECT_EQ(read_file(path + "/last.safetensors"), before);
  train_into(path, tiny_recipe({"train.steps=5", "seed=9"}), TrainRun::Start::kOverwrite);
  EXPECT_NE(read_file(path + "/last.safetensors"), before);
}

TEST_F(TrainerTest, a_finished_run_can_be_lengthened) {
  std::string path = folder_.path("run"), whole = folder_.path("whole");
  std::vector<std::string> constant{"train.schedule={type: constant}"}, shorter = constant;
  shorter.push_back("train.steps=10");
  train_into(path, tiny_recipe(shorter));
  TrainResult longer = train_into(path, tiny_recipe(constant), TrainRun::Start::kResume);
  EXPECT_EQ(longer.step, 20);
  train_into(whole, tiny_recipe(constant));
  EXPECT_EQ(read_file(path + "/last.safetensors"), read_file(whole + "/last.safetensors"));
}

TEST_F(TrainerTest, shards_left_to_the_machine_are_the_runs_own_on_resume) {
  // Recorded on a machine with another number of cores than this one.
  int64_t others = available_cores() + 1;
  std::string path = folder_.path("run"), whole = folder_.path("whole");
  Recipe elsewhere = tiny_recipe({format("train.shards={}", others)});
  train_into(whole, elsewhere);
  train_into(path, elsewhere, TrainRun::Start::kFresh, 6);
  train_into(path, tiny_recipe({"train.shards=auto"}), TrainRun::Start::kResume);
  expect_same_run(whole, path);
  EXPECT_NE(user_error([&] {
              train_into(path, tiny_recipe({"train.shards=1"}), TrainRun::Start::kResume);
            }).find("train.shards"),
            std::string::npos);
}

TEST_F(TrainerTest, wrong_data_leaves_no_folder_behind) {
  std::string path = folder_.path("run");
  std::string corpus =
      "data={corpus: {train: {source: /nowhere/a, target: /nowhere/b}, valid: {source: /nowhere/a, "
      "target: /nowhere/b}}}";
  Recipe recipe = tiny_recipe({corpus});
  EXPECT_NE(user_error([&] { train_into(path, recipe); }).find("/nowhere/a"), std::string::npos);
  EXPECT_FALSE(fs::exists(path));
}

TEST_F(TrainerTest, training_from_the_resolved_config_repeats_the_run) {
  std::string path = folder_.path("run"), again = folder_.path("again");
  train_into(path, tiny_recipe(kRich));
  train_into(again, read_recipe(Config::from_file(path + "/config.yaml")));
  expect_same_run(path, again);
}

#ifndef LOOKBACK_DOUBLE
TEST(Trainer, bf16_without_a_processor_for_it_warns_once_and_is_float) {
  if (bf16_products()) GTEST_SKIP() << "this processor has products of bf16 numbers";
  auto bits = [](const std::string& precision) {
    Recipe recipe = tiny_recipe({"train.steps=5", "train.precision=" + precision});
    TextFolder folder;
    ::testing::internal::CaptureStderr();
    TrainRun run;
    run.folder = folder.path("run");
    TrainResult out = train(recipe, run);
    std::string said = ::testing::internal::GetCapturedStderr();
    EXPECT_EQ(said.find("precision") != std::string::npos,
              read_file(folder.path("run/log.txt")).find("precision") != std::string::npos)
        << said;
    return std::pair(out.model->parameters()[0].variable.value().clone(), said);
  };
  auto [floats, nothing] = bits("f32");
  auto [fallback, warning] = bits("bf16");
  for (int64_t i = 0; i < floats.count(); ++i) ASSERT_EQ(floats.data()[i], fallback.data()[i]);
  std::string text = "train.precision: bf16: this processor has no products of bf16 numbers";
  EXPECT_EQ(nothing.find("precision"), std::string::npos) << nothing;
  size_t first = warning.find(text);
  EXPECT_NE(first, std::string::npos) << warning;
  EXPECT_EQ(warning.find(text, first + 1), std::string::npos) << "said twice: " << warning;
}
#endif

}  // namespace
}  // namespace lookback
