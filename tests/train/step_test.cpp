#include "train/step.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "core/threads.h"
#include "tiny_recipe.h"
#include "train/evaluate.h"

namespace lookback {
namespace {

struct Fixture {
  Recipe recipe;
  std::unique_ptr<Dataset> data;
  std::unique_ptr<EncoderDecoder> model;
  std::vector<Module::Named> parameters;

  explicit Fixture(const std::vector<std::string>& changes = {}) : recipe(tiny_recipe(changes)) {
    data = make_dataset(recipe.data, recipe.seed, recipe.train.batch);
    model = recipe.model(data->source_vocabulary().size(), data->target_vocabulary().size());
    model->initialize(1);
    parameters = model->parameters();
  }
  Batch batch(int64_t step = 0) {
    std::vector<Example> examples = data->training_examples(step);
    return make_batch(examples);
  }
  StepResult run(const std::vector<Batch>& batches, const StepOptions& options) {
    return forward_backward(*model, parameters, batches, {}, options);
  }
};

void expect_near(const ParameterGradients& a, const ParameterGradients& b, double tolerance) {
  ASSERT_EQ(a.tensors.size(), b.tensors.size());
  EXPECT_NEAR(a.norm, b.norm, tolerance);
  for (size_t p = 0; p < a.tensors.size(); ++p)
    for (int64_t i = 0; i < a.tensors[p].count(); ++i)
      ASSERT_NEAR(a.tensors[p].data()[i], b.tensors[p].data()[i], tolerance) << "parameter " << p;
}

TEST(Step, dealing_gives_each_sentence_to_one_shard) {
  Fixture f;
  Batch batch = f.batch();
  for (int64_t shards : {1, 2, 3, 8, 50}) {
    std::vector<std::vector<int64_t>> parts = deal(batch, shards);
    EXPECT_EQ(static_cast<int64_t>(parts.size()), std::min<int64_t>(shards, batch.size()));
    std::vector<int64_t> seen;
    for (const auto& part : parts) {
      EXPECT_FALSE(part.empty());
      seen.insert(seen.end(), part.begin(), part.end());
    }
    std::sort(seen.begin(), seen.end());
    for (int64_t b = 0; b < batch.size(); ++b) EXPECT_EQ(seen[static_cast<size_t>(b)], b);
  }
}

#ifndef LOOKBACK_DOUBLE
TEST(Step, products_in_bf16_change_the_gradients_a_little_and_no_thread_does) {
  int before = threads();
  for (const char* attention :
       {"model.attention={type: bahdanau}", "model.attention={type: luong}"}) {
    Fixture f({attention});
    Batch batch = f.batch();
    auto run = [&](Products products, int64_t shards, int team) {
      set_threads(team);
      return f.run({batch}, {.shards = shards, .products = products});
    };
    StepResult floats = run(Products::kFloat, 1, 1), bf16 = run(Products::kBf16InFloat, 1, 1);
    EXPECT_NE(bf16.loss, floats.loss) << "nothing was rounded";
    EXPECT_NEAR(bf16.loss, floats.loss, 0.01 * floats.loss);
    EXPECT_NEAR(bf16.gradients.norm, floats.gradients.norm, 0.05 * floats.gradients.norm);
    for (int team : {2, 5})
      expect_near(run(Products::kBf16InFloat, 1, team).gradients, bf16.gradients, 0);
    StepResult shards = run(Products::kBf16InFloat, 2, 2);
    expect_near(run(Products::kBf16InFloat, 2, 1).gradients, shards.gradients, 0);
    expect_near(run(Products::kFloat, 1, 1).gradients, floats.gradients, 0);
  }
  set_threads(before);
}
#endif

TEST(Step, random_offsets_do_not_depend_on_the_shards) {
  std::string side = "{type: transformer, width: 8, heads: 2, feed_forward: 8, layers: 1}";
  Fixture f({"model.encoder=" + side, "model.decoder=" + side, "model.attention={type: none}",
             "model.random_offset=40"});
  std::vector<Batch> batches{f.batch(0), f.batch(1)};
  auto run = [&](uint64_t step, int64_t shards) {
    Pass pass{.training = true, .key = {.seed = 1, .step = step}};
    return forward_backward(*f.model, f.parameters, batches, pass, {.shards = shards});
  };
  StepResult one = run(1, 1);
  EXPECT_GT(std::abs(one.nll - run(2, 1).nll), 1e-4);
  for (int64_t shards : {2, 3, 8}) {
    StepResult more = run(1, shards);
    EXPECT_NEAR(more.nll, one.nll, 1e-5);
    expect_near(more.gradients, one.gradients, 1e-5);
  }
}

TEST(Step, shards_share_the_work_evenly) {
  std::vector<Example> examples;
  for (int n = 1; n <= 32; ++n)
    examples.push_back({std::vector<Id>(static_cast<size_t>(n), 4), {4}});
  Batch batch = make_batch(examples);
  std::vector<int64_t> work;
  for (const auto& part : deal(batch, 2)) {
    work.push_back(0);
    for (int64_t b : part) work.back() += batch.source_lengths[static_cast<size_t>(b)];
  }
  EXPECT_NEAR(static_cast<double>(work[0]) / static_cast<double>(work[1]), 1, 0.02);
}

TEST(Step, shards_change_the_gradient_by_rounding_alone) {
  Fixture f;
  StepResult whole = f.run({f.batch()}, {.shards = 1});
  for (int64_t shards : {2, 3, 8}) {
    StepResult parts = f.run({f.batch()}, {.shards = shards});
    EXPECT_NEAR(parts.loss, whole.loss, 1e-5);
    EXPECT_EQ(parts.tokens, whole.tokens);
    expect_near(parts.gradients, whole.gradients, 1e-5);
  }
}

TEST(Step, threads_change_no_bit) {
  for (int64_t shards : {1, 2, 3}) {
    Fixture f;
    set_threads(1);
    StepResult one = f.run({f.batch()}, {.shards = shards});
    for (int threads : {2, 5}) {
      set_threads(threads);
      StepResult many = f.run({f.batch()}, {.shards = shards});
      EXPECT_EQ(one.loss, many.loss);
      expect_near(one.gradients, many.gradients, 0);
    }
    set_threads(available_cores());
  }
}

TEST(Step, accumulated_batches_equal_one_large_batch) {
  Fixture f;
  std::vector<Example> first = f.data->training_examples(0), second = f.data->training_examples(1),
                       both = first;
  both.insert(both.end(), second.begin(), second.end());
  StepResult apart = f.run({make_batch(first), make_batch(second)}, {.shards = 2});
  StepResult together = f.run({make_batch(both)}, {.shards = 2});
  EXPECT_NEAR(apart.loss, together.loss, 1e-5);
  expect_near(apart.gradients, together.gradients, 1e-5);
}

TEST(Step, padding_changes_no_loss_and_no_gradient) {
  Fixture f;
  std::vector<Example> examples = f.data->training_examples(0);
  StepResult padded = f.run({make_batch(examples)}, {});
  std::vector<Batch> alone;
  for (const Example& e : examples) alone.push_back(make_batch(std::span(&e, 1)));
  StepResult single = f.run(alone, {});
  EXPECT_NEAR(padded.loss, single.loss, 1e-5);
  expect_near(padded.gradients, single.gradients, 1e-5);
}

TEST(Step, smoothing_changes_the_loss_but_not_the_nll) {
  Fixture f;
  StepResult plain = f.run({f.batch()}, {.shards = 2}),
             smooth = f.run({f.batch()}, {.shards = 2, .label_smoothing = 0.2});
  EXPECT_NEAR(plain.nll, smooth.nll, 1e-5);
  EXPECT_EQ(plain.loss, plain.nll);
  EXPECT_GT(std::abs(smooth.loss - plain.loss), 1e-4);
}

TEST(Step, nll_is_what_evaluation_measures) {
  Fixture f;
  std::vector<Example> examples = f.data->training_examples(0);
  EXPECT_NEAR(f.run({make_batch(examples)}, {.shards = 2}).nll,
              evaluate(*f.model, examples).all.nll, 1e-5);
}

TEST(Step, dropout_draws_follow_the_key_alone) {
  Fixture f({"model.encoder.dropout=0.5", "model.decoder.dropout=0.5"});
  auto run = [&](uint64_t step) {
    Pass pass{.training = true, .key = {.seed = 1, .purpose = 0, .step = step, .index = 0}};
    return forward_backward(*f.model, f.parameters, {f.batch()}, pass, {.shards = 2}).loss;
  };
  EXPECT_EQ(run(1), run(1));
  EXPECT_NE(run(1), run(2));
}

TEST(Step, clipping_is_by_global_norm) {
  EXPECT_EQ(clip_factor(0.5, 1), 1);
  EXPECT_NEAR(clip_factor(4, 1), 0.25, 1e-6);
  EXPECT_EQ(clip_factor(4, 0), 1);
  EXPECT_EQ(clip_factor(0, 1), 1);
  Fixture f;
  ParameterGradients g = f.run({f.batch()}, {.shards = 3}).gradients;
  double square = 0;
  for (const Tensor& t : g.tensors)
    for (Real v : t.values()) square += static_cast<double>(v) * v;
  EXPECT_NEAR(g.norm, std::sqrt(square), 1e-9);
}

}  // namespace
}  // namespace lookback
