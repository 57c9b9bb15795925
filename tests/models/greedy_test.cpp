#include "models/greedy.h"

#include <gtest/gtest.h>

#include <cmath>

#include "autograd/ops.h"
#include "core/allocator.h"
#include "support/models.h"

namespace lookback {
namespace {

using testing::build_model;
using testing::ModelKind;

constexpr int64_t kWords = 9;

std::vector<std::vector<Id>> sources() {
  return {{5, 6, 7}, {8}, {4, 5, 6, 7, 8, 4, 5}, {}, {4, 4}};
}

/// A model with the bias of one output word raised, so that it comes early or never.
std::unique_ptr<EncoderDecoder> with_bias(const ModelKind& kind, Id word, Real bias,
                                          uint64_t seed = 3) {
  std::unique_ptr<EncoderDecoder> model = build_model(kind.yaml(4, 6), kWords, seed);
  for (Module::Named& p : model->parameters()) {
    if (p.name == "decoder.output.bias") p.variable.leaf_value().data()[word] += bias;
    if (p.name ==
        "decoder.output.weight")  // far from ties, and different sentences say different things
      for (Real& value : p.variable.leaf_value().values()) value *= 6;
  }
  return model;
}

void expect_equal(const Decoded& a, const Decoded& b) {
  EXPECT_EQ(a.tokens, b.tokens);
  EXPECT_EQ(a.finished, b.finished);
  EXPECT_NEAR(a.log_probability, b.log_probability, 1e-4);
  ASSERT_EQ(a.weights.size(), b.weights.size());
  for (size_t t = 0; t < a.weights.size(); ++t) {
    ASSERT_EQ(a.weights[t].size(), b.weights[t].size());
    for (size_t s = 0; s < a.weights[t].size(); ++s)
      EXPECT_NEAR(a.weights[t][s], b.weights[t][s], 1e-5);
  }
}

TEST(Greedy, ABatchIsTranslatedAsItsSentencesOneByOne) {
  bool some_finished = false, some_not = false;
  for (const ModelKind& kind : testing::model_kinds()) {
    SCOPED_TRACE(kind.name());
    std::unique_ptr<EncoderDecoder> model = with_bias(kind, kEnd, 1);
    std::vector<Decoded> together = decode_greedy(*model, sources(), {.weights = true});
    ASSERT_EQ(together.size(), sources().size());
    for (size_t b = 0; b < together.size(); ++b) {
      std::vector<std::vector<Id>> one{sources()[b]};
      expect_equal(together[b], decode_greedy(*model, one, {.weights = true})[0]);
      (together[b].finished ? some_finished : some_not) = true;
    }
  }
  EXPECT_TRUE(some_finished && some_not) << "the models do not try both ways to end";
}

TEST(Greedy, EachSentenceHasItsOwnLimit) {
  for (const ModelKind& kind : testing::model_kinds({"gru"})) {
    std::unique_ptr<EncoderDecoder> model = with_bias(kind, kEnd, -1000);
    std::vector<Decoded> out = decode_greedy(*model, sources());
    for (size_t b = 0; b < out.size(); ++b) {
      EXPECT_EQ(out[b].tokens.size(), 2 * sources()[b].size() + 10);
      EXPECT_FALSE(out[b].finished);
    }
    for (const Decoded& one : decode_greedy(*model, sources(), {.max_length = 3}))
      EXPECT_EQ(one.tokens.size(), 3u);
    for (const Decoded& one : decode_greedy(*model, sources(), {.max_length = 0})) {
      EXPECT_TRUE(one.tokens.empty());
      EXPECT_EQ(one.log_probability, 0);
    }
  }
}

TEST(Greedy, StopsAtTheEndMark) {
  std::unique_ptr<EncoderDecoder> model = with_bias({.attention = "type: bahdanau"}, kEnd, 1000);
  for (const DecodeOptions& options :
       {DecodeOptions{.weights = true}, DecodeOptions{.max_length = 0, .weights = true}})
    for (const Decoded& one : decode_greedy(*model, sources(), options)) {
      EXPECT_TRUE(one.tokens.empty());
      EXPECT_TRUE(one.finished);
      EXPECT_NEAR(one.log_probability, 0, 1e-6);
      EXPECT_EQ(one.weights.size(), 1u);
    }
}

TEST(Greedy, NeverChoosesPaddingOrTheBeginMark) {
  for (Id mark : {kPad, kBegin}) {
    std::unique_ptr<EncoderDecoder> model = with_bias({.attention = "type: bahdanau"}, mark, 1000);
    for (const Decoded& one : decode_greedy(*model, sources()))
      for (Id token : one.tokens) EXPECT_TRUE(token == kUnknown || token >= kMarks) << token;
  }
}

TEST(Greedy, TheLogProbabilityIsTheModelsOwnAndNoOtherWordIsBetter) {
  for (const ModelKind& kind : testing::model_kinds()) {
    SCOPED_TRACE(kind.name());
    std::unique_ptr<EncoderDecoder> model = with_bias(kind, kEnd, 1);
    std::vector<Decoded> out = decode_greedy(*model, sources());
    for (size_t b = 0; b < out.size(); ++b) {
      std::vector<Example> pair{{sources()[b], out[b].tokens}};
      Batch batch = make_batch(pair);
      Variable log_p = log_softmax(model->forward(batch));
      double sum = 0;
      for (int64_t t = 0; t < batch.target.columns - (out[b].finished ? 0 : 1); ++t) {
        Real chosen = log_p.value().at({0, t, batch.target.at(0, t)});
        sum += chosen;
        for (Id other = kEnd; other < kWords; ++other)
          EXPECT_LE(log_p.value().at({0, t, other}), chosen + 1e-4);
      }
      EXPECT_NEAR(out[b].log_probability, sum, 1e-3);
    }
  }
}

TEST(Greedy, KeepsOneRowOfWeightsAStepOverRealPositionsAlone) {
  std::unique_ptr<EncoderDecoder> model = with_bias({.attention = "type: bahdanau"}, kEnd, 1);
  std::vector<Decoded> out = decode_greedy(*model, sources(), {.weights = true});
  for (size_t b = 0; b < out.size(); ++b) {
    EXPECT_EQ(out[b].weights.size(), out[b].tokens.size() + (out[b].finished ? 1 : 0));
    for (const std::vector<Real>& row : out[b].weights) {
      EXPECT_EQ(row.size(), sources()[b].size() + 1);
      double sum = 0;
      for (Real weight : row) sum += weight;
      EXPECT_NEAR(sum, 1, 1e-5);
    }
  }
  for (const Decoded& one : decode_greedy(*model, sources())) EXPECT_TRUE(one.weights.empty());
}

TEST(Greedy, NothingInNothingOut) {
  std::unique_ptr<EncoderDecoder> model = with_bias({}, kEnd, 0);
  EXPECT_TRUE(decode_greedy(*model, {}).empty());
}

TEST(Greedy, RecordsNoHistory) {
  std::unique_ptr<EncoderDecoder> model = with_bias({.attention = "type: bahdanau"}, kEnd, -1000);
  uint64_t before = memory_counts().in_use_bytes;
  decode_greedy(*model, sources());
  EXPECT_EQ(memory_counts().in_use_bytes, before);
  EXPECT_TRUE(recording());
}

}  // namespace
}  // namespace lookback
