#include <gtest/gtest.h>

#include <filesystem>

#include "train/dataset.h"

namespace lookback {
namespace {

/// The real corpus, where it is at hand.
class Multi30k : public testing::Test {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(folder_ + "train.lc.tok.de"))
      GTEST_SKIP() << "needs " << folder_ << "train.lc.tok.de";
  }
  TextPair files(const std::string& name) const {
    return {folder_ + name + ".lc.tok.de", folder_ + name + ".lc.tok.en"};
  }

  std::string folder_ = std::string(LOOKBACK_SOURCE_DIR) + "/../shared/data/multi30k/";
};

double padding_share(Dataset& data, int64_t steps) {
  double real = 0, padded = 0;
  for (int64_t step = 0; step < steps; ++step) {
    Batch batch = make_batch(data.training_examples(step));
    padded += static_cast<double>(batch.source.values.size() + batch.target.values.size());
    for (const Lengths* lengths : {&batch.source_lengths, &batch.target_lengths})
      for (int64_t length : *lengths) real += static_cast<double>(length);
  }
  return 1 - real / padded;
}

TEST_F(Multi30k, IsReadWholeAndBatchedTightly) {
  CorpusOptions options;
  options.train = files("train");
  options.valid = files("val");
  options.test = files("test_2016_flickr");
  auto data = make_dataset(options, 1, {.size = 64});
  EXPECT_EQ(data->source_vocabulary().size(), 7859);
  EXPECT_EQ(data->target_vocabulary().size(), 5921);
  EXPECT_EQ(data->held_out(Split::kValid).size(), 1014u);
  EXPECT_EQ(data->held_out(Split::kTest).size(), 1000u);

  int64_t steps = data->steps_in_epochs(1), pairs = 0;
  EXPECT_EQ(steps, 454);  // 29,000 pairs by 64
  for (int64_t step = 0; step < steps; ++step)
    pairs += static_cast<int64_t>(data->training_examples(step).size());
  EXPECT_EQ(pairs, 29000);
  double sentences = padding_share(*data, steps);

  auto by_tokens = make_dataset(options, 1, {.size = 1024, .unit = "tokens"});
  double tokens = padding_share(*by_tokens, by_tokens->steps_in_epochs(1));
  RecordProperty("padding_percent_by_sentences", std::to_string(100 * sentences));
  RecordProperty("padding_percent_by_tokens", std::to_string(100 * tokens));
  EXPECT_LT(sentences, 0.065);
  EXPECT_LT(tokens, 0.055);
}

}  // namespace
}  // namespace lookback
