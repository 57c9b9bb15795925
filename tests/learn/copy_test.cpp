#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "support/sanitized.h"
#include "train/trainer.h"

namespace lookback {
namespace {

/// Trains configs/NAME as it stands and measures it by length on 1,000 sentences never seen.
Evaluation learn(const std::string& name, Products products = Products::kFloat) {
  Config config = Config::from_file(std::string(LOOKBACK_SOURCE_DIR) + "/configs/" + name);
  config.set("train.shards=2");   // the bits do not depend on the number of cores,
  config.set("train.threads=1");  // nor on threads; one is kind to the tests that run beside this
  TrainRun run;
  run.products = products;
  TrainResult trained = train(read_recipe(config), run);
  Evaluation out = evaluate(*trained.model, trained.data->held_out(Split::kTest), {.bucket = 1});
  EXPECT_EQ(out.all.examples, 1000);
  EXPECT_EQ(out.by_length.size(), 20u);
  return out;
}

TEST(LearnCopy, WithAttentionEveryLengthIsRight) {
  if (testing::kSanitized) GTEST_SKIP() << "the release build learns it";
  for (const Evaluation::Length& row : learn("copy_bahdanau.yaml").by_length)
    EXPECT_GE(row.measures.sequence_accuracy, 0.98) << row.from << " letters";
}

TEST(LearnCopy, AFixedContextForgets) {
  if (testing::kSanitized) GTEST_SKIP() << "the release build learns it";
  for (const Evaluation::Length& row : learn("copy_fixed.yaml").by_length) {
    double right = row.measures.sequence_accuracy;
    EXPECT_TRUE(row.from > 4 || right >= 0.9) << right << " at " << row.from << " letters";
    EXPECT_TRUE(row.from < 14 || right <= 0.05) << right << " at " << row.from << " letters";
  }
}

/// Mean over the upper half of the trained lengths.
double upper_half(const Evaluation& evaluation) {
  double sum = 0;
  int64_t rows = 0;
  for (const Evaluation::Length& row : evaluation.by_length)
    if (row.from > 10) {
      sum += row.measures.sequence_accuracy;
      ++rows;
    }
  return sum / static_cast<double>(rows);
}

TEST(LearnCopy, EveryAttentionAndTheTransformer) {
  if (testing::kSanitized) GTEST_SKIP() << "the release build learns it";
  EXPECT_GE(upper_half(learn("copy_luong_dot.yaml")), 0.97);
  EXPECT_GE(upper_half(learn("copy_luong_general.yaml")), 0.97);
  EXPECT_GE(upper_half(learn("copy_luong_concat.yaml")), 0.98);
  EXPECT_GE(upper_half(learn("copy_scaled_dot.yaml")), 0.97);
  EXPECT_GE(upper_half(learn("copy_transformer.yaml")), 0.98);
}

TEST(LearnCopy, WithProductsInBf16) {
  if (testing::kSanitized) GTEST_SKIP() << "the release build learns it";
  // The scores that float products are held to, whether or not this processor has products of bf16.
  Products bf16 = bf16_products() ? Products::kBf16 : Products::kBf16InFloat;
  EXPECT_GE(upper_half(learn("copy_bahdanau.yaml", bf16)), 0.98);
  EXPECT_GE(upper_half(learn("copy_luong_dot.yaml", bf16)), 0.97);
  EXPECT_GE(upper_half(learn("copy_luong_general.yaml", bf16)), 0.97);
  EXPECT_GE(upper_half(learn("copy_luong_concat.yaml", bf16)), 0.98);
  EXPECT_GE(upper_half(learn("copy_scaled_dot.yaml", bf16)), 0.97);
  EXPECT_GE(upper_half(learn("copy_transformer.yaml", bf16)), 0.98);
}

}  // namespace
}  // namespace lookback
