#include "study/explain.h"

#include <gtest/gtest.h>

#include <cmath>

#include "autograd/ops.h"
#include "models/decode.h"
#include "study/source_gradients.h"
#include "support/models.h"
#include "support/registered.h"
#include "train/step.h"

namespace lookback {
namespace {

using testing::build_model;
using testing::decodable_models;
using testing::NamedModel;

const std::vector<Id> kSource = {4, 7, 5, 9, 6}, kTarget = {8, 4, 5};

/// log p of one target token when a source word vector is moved a little.
double log_p(const EncoderDecoder& model, const Tensor& vectors, size_t t) {
  NoGrad no_history;
  Batch batch = make_batch(std::vector{Example{kSource, kTarget}});
  Variable logits = model.forward(batch, model.encode(vectors, batch.source_lengths));
  return token_log_probabilities(logits, batch).at(0).at(t);
}

TEST(SourceGradients, AreTheSlopesOfLogProbabilities) {
  for (const NamedModel& kind : decodable_models()) {
    SCOPED_TRACE(kind.name);
    std::unique_ptr<EncoderDecoder> model = build_model(kind.yaml, 12);
    SourceGradients g = source_gradients(*model, {kSource, kTarget});
    ASSERT_EQ(g.norm.size(), kTarget.size() + 1);
    ASSERT_EQ(g.norm[0].size(), kSource.size() + 1);
    Batch batch = make_batch(std::vector{Example{kSource, kTarget}});
    NoGrad no_history;
    Tensor vectors = model->embed(batch.source).value().clone();
    int64_t units = vectors.size(2);
    // x . dnll/dx is the slope of nll as x is stretched: x (1 + h).
    for (size_t t : {size_t{0}, kTarget.size()})
      for (int64_t j : {int64_t{0}, int64_t{3}}) {
        constexpr double h = 1e-2;
        double at[2];
        for (int side : {0, 1}) {
          Tensor moved = vectors.clone();
          for (int64_t i = 0; i < units; ++i)
            moved.data()[j * units + i] *= static_cast<Real>(1 + (side ? h : -h));
          at[side] = -log_p(*model, moved, t);
        }
        EXPECT_NEAR(g.product[t][static_cast<size_t>(j)], (at[1] - at[0]) / (2 * h), 2e-3);
      }
  }
}

TEST(SourceGradients, OfOneTargetIsThatRowOfAll) {
  std::unique_ptr<EncoderDecoder> model = build_model(decodable_models()[1].yaml, 12);
  SourceGradients all = source_gradients(*model, {kSource, kTarget});
  SourceGradients one = source_gradients(*model, {kSource, kTarget}, {2});
  ASSERT_EQ(one.norm.size(), 1u);
  EXPECT_EQ(one.norm[0], all.norm[2]);
  EXPECT_THROW(source_gradients(*model, {kSource, kTarget}, {4}), Error);
}

TEST(SourceGradients, TheLastOutputsMeanIsOverExamples) {
  std::unique_ptr<EncoderDecoder> model = build_model(decodable_models()[0].yaml, 12);
  std::vector<Example> two = {{kSource, kTarget}, {{9, 4, 4, 8, 5}, {6}}};
  std::vector<double> mean = last_output_gradients(*model, two);
  std::vector<double> a = source_gradients(*model, two[0], {2}).norm[0],
                      b = source_gradients(*model, two[1], {0}).norm[0];
  ASSERT_EQ(mean.size(), 5u);  // without the end mark
  for (size_t j = 0; j < mean.size(); ++j) EXPECT_NEAR(mean[j], (a[j] + b[j]) / 2, 1e-9);
  EXPECT_THROW(last_output_gradients(*model, {two[0], {{4}, {5}}}), Error);
}

TEST(Explain, WeightsAreThoseOfDecodingAndSumToOne) {
  for (const NamedModel& kind : decodable_models()) {
    SCOPED_TRACE(kind.name);
    std::unique_ptr<EncoderDecoder> model = build_model(kind.yaml, 12);
    Explanation e = explain(*model, kSource);
    DecodeOptions with_weights;
    with_weights.weights = true;
    std::vector<Decoded> decoded = decode(*model, std::span(&kSource, 1), with_weights).at(0);
    ASSERT_EQ(e.target.size(), decoded[0].tokens.size() + 1);
    EXPECT_EQ(e.target.back(), kEnd);
    if (decoded[0].weights.empty()) {
      EXPECT_TRUE(e.weights.empty());
      EXPECT_TRUE(e.ablation.empty());
      continue;
    }
    for (size_t t = 0; t < e.target.size(); ++t) {
      double sum = 0;
      for (double w : e.mean_weights[t]) sum += w;
      EXPECT_NEAR(sum, 1, 1e-5);
      size_t at = 0;
      for (const auto& layer : e.weights)
        for (const Grid& head : layer)
          for (double w : head[t]) EXPECT_NEAR(w, double{decoded[0].weights[t][at++]}, 1e-5);
    }
  }
}

TEST(Explain, AblationAndErasureAreWhatHappensWhenAPositionIsTaken) {
  std::unique_ptr<EncoderDecoder> model = build_model(
      testing::ModelKind{.attention = "type: luong, score: dot, query: current"}.yaml(4, 6), 12);
  Explanation e = explain(*model, kSource, &kTarget);
  ASSERT_EQ(e.erasure.size(), 4u);
  Batch batch = make_batch(std::vector{Example{kSource, kTarget}});
  NoGrad no_history;
  Tensor vectors = model->embed(batch.source).value().clone();
  double whole = log_p(*model, vectors, 1);
  std::fill_n(vectors.data() + 2 * vectors.size(2), vectors.size(2), Real{0});
  EXPECT_NEAR(e.erasure[1][2], whole - log_p(*model, vectors, 1), 1e-5);
  // A position that gets no weight can be hidden without a trace; here all get some.
  double moved = 0;
  for (const std::vector<double>& row : e.ablation)
    for (double fall : row) moved = std::max(moved, std::abs(fall));
  EXPECT_GT(moved, 1e-4);
}

Explanation made_up(const Grid& weights, const Grid& effect) {
  Explanation e;
  e.weights = {{weights}};
  e.mean_weights = weights;
  e.ablation = e.gradient = e.product = e.erasure = effect;
  e.source.assign(weights[0].size(), 4);
  e.target.assign(weights.size(), 4);
  return e;
}

TEST(Explain, WeightsThatAgreeWithEveryCheckMayBeRead) {
  Grid diagonal = {{.8, .15, .05}, {.1, .7, .2}, {.3, .3, .4}};
  Explanation agreeing = made_up(diagonal, diagonal);
  WeightVerdict alone = judge_weights({agreeing});
  EXPECT_FALSE(alone.readable);
  EXPECT_NE(alone.sentence.find("one model says nothing of other seeds"), std::string::npos);
  WeightVerdict two = judge_weights({agreeing, agreeing}, {0, 1});
  EXPECT_TRUE(two.readable) << two.sentence;
  ASSERT_EQ(two.checks.size(), 5u);
  for (const WeightCheck& c : two.checks) EXPECT_TRUE(c.passes) << c.name;
  // Any one of them against it is enough.
  EXPECT_FALSE(judge_weights({agreeing, agreeing}, {2, 0}).readable);
  Grid turned = {{.05, .15, .8}, {.2, .1, .7}, {.4, .3, .3}};
  EXPECT_FALSE(judge_weights({made_up(diagonal, turned), agreeing}).readable);
  EXPECT_FALSE(judge_weights({agreeing, made_up(turned, turned)}).readable);
  Explanation wrong_gradient = agreeing;
  wrong_gradient.gradient = turned;
  WeightVerdict verdict = judge_weights({wrong_gradient, agreeing});
  EXPECT_NE(verdict.sentence.find("they disagree with gradient."), std::string::npos)
      << verdict.sentence;
}

TEST(Explain, AgreementIsOfRanksAndOfTheLargest) {
  Agreement same = agreement({{1, 2, 3}}, {{10, 20, 30}});
  EXPECT_DOUBLE_EQ(same.rank, 1);
  EXPECT_DOUBLE_EQ(same.top, 1);
  Agreement half = agreement({{1, 2, 3}, {3, 2, 1}}, {{1, 2, 3}, {1, 2, 3}});
  EXPECT_DOUBLE_EQ(half.rank, 0);
  EXPECT_DOUBLE_EQ(half.top, 0.5);
  EXPECT_TRUE(std::isnan(agreement({{1, 1}}, {{1, 2}}).rank));
  EXPECT_DOUBLE_EQ(agreement({{1, 2}}, {{1, 2}, {2, 1}}).top, 0);
}

}  // namespace
}  // namespace lookback
