// What a profile says of training steps, and that it changes nothing about them.

#include "core/profile.h"

#include <gtest/gtest.h>

#include <map>

#include "core/files.h"
#include "core/log.h"
#include "core/threads.h"
#include "support/text_folder.h"
#include "tiny_recipe.h"
#include "train/measure.h"
#include "train/step.h"
#include "train/trainer.h"

namespace lookback {
namespace {

/// Calls of every row of a phase.
std::map<std::string, int64_t> calls(const ProfileReport& report, Phase phase) {
  std::map<std::string, int64_t> out;
  for (const ProfileRow& row : report.rows)
    if (row.phase == phase) out[row.name] = row.calls;
  return out;
}

/// One step over four sentences of three words each.
struct OneStep {
  Recipe recipe = tiny_recipe();
  std::unique_ptr<EncoderDecoder> model = recipe.model(12, 12);
  std::vector<Module::Named> parameters = model->parameters();
  Batch batch;

  OneStep() {
    model->initialize(1);
    std::vector<Example> examples(4, Example{{5, 6, 7}, {7, 6, 5}});
    batch = make_batch(examples);
  }
  StepResult run(int64_t shards) const {
    return forward_backward(*model, parameters, {batch}, {}, {.shards = shards});
  }
};

TEST(StepProfile, counts_every_op_of_every_shard) {
  OneStep step;
  int64_t targets = 4;  // with the end mark
  for (int64_t shards : {1, 2}) {
    Profile profile;
    step.run(shards);
    ProfileReport report = profile.report();
    std::map<std::string, int64_t> forward = calls(report, Phase::kForward),
                                   backward = calls(report, Phase::kBackward),
                                   around = calls(report, Phase::kAround);
    for (auto* side : {&forward, &backward}) {
      EXPECT_EQ((*side)["linear_cross_entropy"], shards);
      EXPECT_EQ((*side)["recurrent_sequence"], shards);
      EXPECT_EQ((*side)["embedding"], 2 * shards);
      EXPECT_EQ((*side)["additive_attention"], targets * shards);
      EXPECT_EQ((*side)["gru_gates"], targets * shards);
    }
    EXPECT_EQ(forward["outside of ops"], shards);
    EXPECT_EQ(backward["walk over the graph"], shards);
    EXPECT_EQ(backward["freeing the graph"], shards);
    EXPECT_GT(backward["sums of gradients"], 0);
    EXPECT_EQ(around["batch into shards"], 1);
    EXPECT_EQ(around["sum over shards, norm"], 1);
    EXPECT_EQ(around["waiting for other shards"], shards > 1 ? 1 : 0);
  }
}

TEST(StepProfile, changes_no_bit) {
  OneStep step;
  for (int64_t shards : {1, 2, 3}) {
    StepResult plain = step.run(shards);
    Profile profile;
    StepResult measured = step.run(shards);
    EXPECT_EQ(plain.loss, measured.loss);
    EXPECT_EQ(plain.gradients.norm, measured.gradients.norm);
    for (size_t p = 0; p < plain.gradients.tensors.size(); ++p)
      for (int64_t i = 0; i < plain.gradients.tensors[p].count(); ++i)
        ASSERT_EQ(plain.gradients.tensors[p].data()[i], measured.gradients.tensors[p].data()[i]);
  }
}

TEST(StepProfile, bench_has_one_only_where_it_is_asked_for) {
  BenchOptions options{.batch = 4, .source_length = 3, .target_length = 3, .steps = 5};
  EXPECT_FALSE(bench(tiny_recipe(), options).profile.has_value());
  EXPECT_FALSE(bench(tiny_recipe(), options).json().contains("profile"));
  options.profile = true;
  BenchResult result = bench(tiny_recipe(), options);
  std::map<std::string, int64_t> around = calls(result.profile.value(), Phase::kAround);
  EXPECT_EQ(around["optimiser"], options.steps);
  Json json = result.json()["profile"];
  EXPECT_EQ(json["steps"], options.steps);
  double sum = json["unattributed_ms"];
  int64_t with_products = 0;
  for (const Json& row : json["rows"]) {
    sum += row["ms"].get<double>();
    EXPECT_DOUBLE_EQ(row["ms"],
                     row["products_ms"].get<double>() + row["elsewhere_ms"].get<double>());
    with_products += row.contains("products_gflops");
    if (row["name"] == "linear_cross_entropy") {
      EXPECT_EQ(row["calls"], 2);  // a step, of two shards
    }
  }
  EXPECT_NEAR(sum, json["step_ms"], 1e-9 * sum);
  EXPECT_GT(with_products, 0);
}

TEST(TrainProfile, covers_the_loop_and_changes_no_file) {
  set_log_quiet(true);
  TextFolder folder;
  auto run_into = [&](const std::string& name, bool profile) {
    TrainRun run;
    run.folder = folder.path(name);
    run.profile = profile;
    return train(tiny_recipe({"train.threads=2"}), run);
  };
  TrainResult plain = run_into("plain", false), measured = run_into("measured", true);
  EXPECT_FALSE(plain.profile.has_value());
  for (const char* name :
       {"best.safetensors", "last.safetensors", "state.safetensors", "config.yaml"})
    EXPECT_EQ(read_file(folder.path("plain") + "/" + name),
              read_file(folder.path("measured") + "/" + name))
        << name;
  const ProfileReport& report = measured.profile.value();
  EXPECT_EQ(measured.steps_made, 20);
  std::map<std::string, int64_t> around = calls(report, Phase::kAround);
  EXPECT_EQ(around["optimiser"], 20);
  EXPECT_EQ(around["data"], 20);
  EXPECT_EQ(around["data, beside a shard"], 19);  // none after the last step
  EXPECT_EQ(around["validation"], 4);
  EXPECT_EQ(around["checkpoints"], 4);
  EXPECT_EQ(around["logging"], 7 + 2 * 4);  // a report every 3 steps and at the end; validations
  EXPECT_GT(report.of(Phase::kForward), 0);
  EXPECT_GT(report.of(Phase::kBackward), 0);
  set_log_quiet(false);
}

}  // namespace
}  // namespace lookback
