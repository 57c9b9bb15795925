#include "autograd/past.h"

#include <gtest/gtest.h>

#include "support/error_text.h"
#include "support/random_tensor.h"

namespace lookback {
namespace {

using testing::error_text;
using testing::random_tensor;

constexpr int64_t kBatch = 3, kHeads = 4, kSize = 6;

/// dot_product_attention() over the tokens laid out one after another: (B, t, W).
Tensor composed(const Variable& query, const std::vector<Variable>& tokens, int64_t groups) {
  NoGrad no_history;
  Variable all = stack(tokens, 1);
  return dot_product_attention(heads(query, kHeads, kSize), heads(all, groups, kSize),
                               heads(all, groups, kSize, groups * kSize))
      .context.value();
}

void expect_same_bits(const Tensor& a, const Tensor& b) {
  ASSERT_EQ(a.shape(), b.shape());
  for (int64_t i = 0; i < a.count(); ++i) ASSERT_EQ(a.data()[i], b.data()[i]) << i;
}

TEST(Past, AttendsToTheBitAsIfTheTokensStoodTogether) {
  for (int64_t groups : {4, 2, 1}) {
    Past past(1, kBatch);
    std::vector<Variable> tokens;
    for (uint64_t t = 0; t < 11; ++t) {
      tokens.push_back(random_tensor({kBatch, 2 * groups * kSize}, 10 + t, -3, 3));
      past.append(0, tokens.back().value());
      Variable query = random_tensor({kBatch, 1, kHeads * kSize}, 50 + t, -3, 3);
      expect_same_bits(past.attend(0, heads(query, kHeads, kSize), groups),
                       composed(query, tokens, groups));
    }
  }
}

TEST(Past, TakenSentencesGoOnFromTheirOwnTokens) {
  Past past(1, kBatch);
  std::vector<Variable> tokens;
  const std::vector<std::vector<int64_t>> moves{{2, 0, 0}, {0, 1, 2}, {1, 1, 0, 2}, {3, 0}};
  int64_t batch = kBatch;
  for (size_t t = 0; t < moves.size(); ++t) {
    tokens.push_back(random_tensor({batch, 2 * kHeads * kSize}, t));
    past.append(0, tokens.back().value());
    Past before = past;
    past = past.take(moves[t]);
    batch = static_cast<int64_t>(moves[t].size());
    for (Variable& token : tokens) token = token.value().take(moves[t]);
    Variable query = random_tensor({batch, 1, kHeads * kSize}, 50 + t);
    expect_same_bits(past.attend(0, heads(query, kHeads, kSize), kHeads),
                     composed(query, tokens, kHeads));
    EXPECT_EQ(past.bytes(), before.bytes());  // nothing is copied
  }
}

TEST(Past, HasLayersOfTheirOwn) {
  Past past(2, kBatch);
  Variable query = random_tensor({kBatch, 1, kHeads * kSize}, 1);
  std::vector<std::vector<Variable>> layers(2);
  for (uint64_t t = 0; t < 3; ++t)
    for (size_t layer = 0; layer < 2; ++layer) {
      layers[layer].push_back(random_tensor({kBatch, 2 * kHeads * kSize}, 10 * t + layer));
      past.append(static_cast<int64_t>(layer), layers[layer].back().value());
      EXPECT_EQ(past.tokens(static_cast<int64_t>(layer)), static_cast<int64_t>(t) + 1);
    }
  for (size_t layer = 0; layer < 2; ++layer)
    expect_same_bits(past.attend(static_cast<int64_t>(layer), heads(query, kHeads, kSize), kHeads),
                     composed(query, layers[layer], kHeads));
}

TEST(Past, WhatDoesNotFitIsAnError) {
  Past past(1, 2);
  EXPECT_EQ(error_text([&] {
              past.append(0, random_tensor({3, 8}, 1));
            }),
            "[past] (3, 8) does not fit 2 sentences");
  Variable query = random_tensor({2, 1, 4}, 1);
  EXPECT_EQ(error_text([&] { past.attend(0, heads(query, 1, 4), 1); }),
            "[past] queries (2, 1, 4) do not fit 0 tokens of 2 sentences, 1 heads of keys");
  EXPECT_EQ(error_text([&] {
              (void)past.take(std::vector<int64_t>{0, 2});
            }),
            "[past] there is no sentence 2 among 2");
}

TEST(DotProductAttention, RowsMayAskTheSameKeys) {
  NoGrad no_history;
  const std::vector<int64_t> rows{1, 0, 1, 1, 2};
  Variable query = random_tensor({5, 2, kHeads * kSize}, 1);
  Variable memory = random_tensor({3, 7, 2 * kHeads * kSize}, 2);
  Mask mask = Mask::from_lengths({7, 4, 1}, 7);
  Variable copied = memory.value().take(rows);
  auto attend = [&](const Variable& keys, DotProductOptions options) {
    options.weights = true;
    return dot_product_attention(heads(query, kHeads, kSize), heads(keys, kHeads, kSize),
                                 heads(keys, kHeads, kSize, kHeads * kSize), options);
  };
  for (AttentionWay way : {AttentionWay::kMaterialised, AttentionWay::kBlockwise}) {
    Attended shared = attend(memory, {.mask = mask, .way = way, .key_rows = rows}),
             apart = attend(copied, {.mask = mask.take(rows), .way = way});
    expect_same_bits(shared.context.value(), apart.context.value());
    expect_same_bits(shared.weights.value(), apart.weights.value());
  }
  const std::vector<int64_t> outside{0, 1, 2, 3, 0};
  EXPECT_NE(error_text([&] { attend(memory, {.key_rows = outside}); }).find("key_rows names row 3"),
            std::string::npos);
}

TEST(KeptLayouts, GiveWhatTheWeightGivesAndKeepNothingElse) {
  NoGrad no_history;
  Variable x = random_tensor({16, 20}, 1);
  Variable weight(random_tensor({24, 20}, 2), true), bias = random_tensor({24}, 3),
                                                     other = random_tensor({24, 20}, 4);
  Tensor whole = linear(x, weight, bias).value();
  Tensor part = linear(x, narrow(weight, 0, 8, 8)).value();
  Tensor stranger = linear(x, other).value();
  {
    KeptLayouts kept({weight.value()});
    for (int round = 0; round < 2; ++round) {
      expect_same_bits(linear(x, weight, bias).value(), whole);
      expect_same_bits(linear(x, narrow(weight, 0, 8, 8)).value(), part);
      expect_same_bits(linear(x, other).value(), stranger);
    }
    EXPECT_NE(kept.of(weight), nullptr);
    EXPECT_EQ(kept.of(other), nullptr);
    EXPECT_EQ(KeptLayouts::current(), &kept);
  }
  EXPECT_EQ(KeptLayouts::current(), nullptr);
}

}  // namespace
}  // namespace lookback
