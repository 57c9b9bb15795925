#include "train/evaluate.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "core/threads.h"
#include "tiny_recipe.h"
#include "train/trainer.h"

namespace lookback {
namespace {

/// A model that has learned a little, so that some sentences are right and some wrong.
TrainResult trained() {
  return train(tiny_recipe({"train.steps=150", "data.task.max_length=4"}), {});
}

TEST(Evaluate, counts_exactly_what_greedy_decoding_gets_right) {
  TrainResult run = trained();
  const std::vector<Example>& test = run.data->held_out(Split::kTest);
  Evaluation result = evaluate(*run.model, test, {.batch = 7});
  std::vector<std::vector<Id>> sources;
  for (const Example& e : test) sources.push_back(e.source);
  std::vector<std::vector<Decoded>> decoded = translate(*run.model, sources, {});
  int64_t right = 0;
  for (size_t i = 0; i < test.size(); ++i)
    right += decoded[i][0].ended && decoded[i][0].tokens == test[i].target;
  EXPECT_DOUBLE_EQ(result.all.sequence_accuracy,
                   static_cast<double>(right) / static_cast<double>(test.size()));
  EXPECT_GT(right, 0);
  EXPECT_LT(right, static_cast<int64_t>(test.size()));
  EXPECT_GE(result.all.token_accuracy, result.all.sequence_accuracy);
}

TEST(Evaluate, lengths_add_up_to_the_whole) {
  TrainResult run = trained();
  const std::vector<Example>& test = run.data->held_out(Split::kTest);
  for (int64_t bucket : {-1, 1, 2, 100}) {
    Evaluation result = evaluate(*run.model, test, {.bucket = bucket});
    double nll = 0, right = 0;
    int64_t examples = 0, tokens = 0;
    for (const Evaluation::Length& row : result.by_length) {
      EXPECT_LE(row.from, row.to);
      examples += row.measures.examples;
      tokens += row.measures.tokens;
      nll += row.measures.nll * static_cast<double>(row.measures.tokens);
      right += row.measures.sequence_accuracy * static_cast<double>(row.measures.examples);
    }
    EXPECT_EQ(examples, result.all.examples);
    EXPECT_EQ(tokens, result.all.tokens);
    EXPECT_NEAR(nll / static_cast<double>(tokens), result.all.nll, 1e-9);
    EXPECT_NEAR(right / static_cast<double>(examples), result.all.sequence_accuracy, 1e-9);
    EXPECT_DOUBLE_EQ(result.all.perplexity(), std::exp(result.all.nll));
  }
}

TEST(Evaluate, neither_batch_nor_order_nor_threads_change_a_translation) {
  TrainResult run = trained();
  std::vector<std::vector<Id>> sources;
  for (const Example& e : run.data->held_out(Split::kTest)) sources.push_back(e.source);
  sources.push_back({});
  std::vector<std::vector<Decoded>> first = translate(*run.model, sources, {}, 64);
  std::vector<std::vector<Id>> reversed(sources.rbegin(), sources.rend());
  for (int64_t batch : {1, 7}) {
    std::vector<std::vector<Decoded>> again = translate(*run.model, reversed, {}, batch);
    for (size_t i = 0; i < sources.size(); ++i)
      EXPECT_EQ(first[i][0].tokens, again[sources.size() - 1 - i][0].tokens);
  }
  set_threads(1);
  std::vector<std::vector<Decoded>> alone = translate(*run.model, sources, {}, 64);
  set_threads(available_cores());
  for (size_t i = 0; i < sources.size(); ++i)
    EXPECT_EQ(first[i][0].log_probability, alone[i][0].log_probability);
}

TEST(Evaluate, scores_are_the_log_probabilities_of_the_reference) {
  TrainResult run = trained();
  std::vector<Example> test = run.data->held_out(Split::kTest);
  std::vector<std::vector<double>> scores = score(*run.model, test, 5);
  double sum = 0;
  int64_t tokens = 0;
  for (size_t i = 0; i < test.size(); ++i) {
    ASSERT_EQ(scores[i].size(), test[i].target.size() + 1);
    for (double s : scores[i]) {
      EXPECT_LE(s, 0);
      sum += s;
      ++tokens;
    }
  }
  EXPECT_NEAR(-sum / static_cast<double>(tokens), evaluate(*run.model, test).all.nll, 1e-6);
  // What greedy decoding says of its own sentence is that sentence's score.
  Decoded decoded = translate(*run.model, {test[0].source}, {})[0][0];
  double own = 0;
  std::vector<std::vector<double>> of_own = score(*run.model, {{test[0].source, decoded.tokens}});
  for (double s : of_own[0]) own += s;
  EXPECT_NEAR(own, decoded.log_probability, 1e-4);
}

TEST(Evaluate, beside_a_nan_nothing_is_right) {
  TrainResult run = trained();
  // The logits of <pad>, which greedy decoding never looks at, and of a word.
  for (int64_t word : {0, 5}) {
    for (Module::Named& p : run.model->parameters())
      if (p.name == "decoder.output.bias") p.variable.leaf_value().data()[word] = NAN;
    Evaluation result = evaluate(*run.model, run.data->held_out(Split::kTest));
    EXPECT_EQ(result.all.sequence_accuracy, 0);
    EXPECT_EQ(result.all.token_accuracy, 0);
    EXPECT_TRUE(std::isnan(result.all.nll));
  }
}

TEST(Evaluate, no_example_is_no_error) {
  TrainResult run = train(tiny_recipe({"train.steps=1"}), {});
  EXPECT_EQ(evaluate(*run.model, {}).all.examples, 0);
  EXPECT_TRUE(translate(*run.model, {}, {}).empty());
}

TEST(Bleu, known_values) {
  using Sentences = std::vector<std::vector<Id>>;
  Sentences reference{{4, 5, 6, 7, 8, 9}};
  EXPECT_NEAR(bleu(reference, reference), 100, 1e-9);
  EXPECT_EQ(bleu(Sentences{{10, 11, 12, 13}}, reference), 0);
  EXPECT_EQ(bleu(Sentences{{}}, reference), 0);
  // One of six words wrong at the end: precisions 5/6, 4/5, 3/4, 2/3.
  EXPECT_NEAR(bleu(Sentences{{4, 5, 6, 7, 8, 10}}, reference),
              100 * std::pow(5. / 6 * 4 / 5 * 3 / 4 * 2 / 3, 0.25), 1e-9);
  // Four words of six: all n-grams are right, the brevity penalty is e^(1 - 6/4).
  EXPECT_NEAR(bleu(Sentences{{4, 5, 6, 7}}, reference), 100 * std::exp(-0.5), 1e-9);
  // A repeated word counts as often as the reference has it: 1/4, 0 bigrams.
  EXPECT_EQ(bleu(Sentences{{4, 4, 4, 4}}, reference), 0);
}

}  // namespace
}  // namespace lookback
