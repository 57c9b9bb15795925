#include "models/decode.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <numeric>
#include <set>

#include "autograd/ops.h"
#include "core/allocator.h"
#include "support/error_text.h"
#include "support/models.h"
#include "support/sanitized.h"
#include "train/evaluate.h"

namespace lookback {
namespace {

using testing::build_model;
using testing::NamedModel;

constexpr int64_t kWords = 9;
const std::string kBahdanau = testing::ModelKind{.attention = "type: bahdanau"}.yaml(4, 6);

std::vector<std::vector<Id>> sources() {
  return {{5, 6, 7}, {8}, {4, 5, 6, 7, 8, 4, 5}, {}, {4, 4}};
}

/// A model with the bias of one output word raised, so that it comes early or never.
std::unique_ptr<EncoderDecoder> with_bias(const std::string& yaml, Id word, Real bias,
                                          int64_t words = kWords, uint64_t seed = 3) {
  std::unique_ptr<EncoderDecoder> model = build_model(yaml, words, seed);
  for (Module::Named& p : model->parameters()) {
    if (p.name == "decoder.output.bias") p.variable.leaf_value().data()[word] += bias;
    if (p.name ==
        "decoder.output.weight")  // far from ties, and different sentences say different things
      for (Real& value : p.variable.leaf_value().values()) value *= 6;
  }
  return model;
}

std::vector<Decoded> best(const EncoderDecoder& model, const std::vector<std::vector<Id>>& sources,
                          const DecodeOptions& options = {}) {
  std::vector<Decoded> out;
  for (std::vector<Decoded>& one : decode(model, sources, options)) out.push_back(one.at(0));
  return out;
}

void expect_equal(const Decoded& a, const Decoded& b) {
  EXPECT_EQ(a.tokens, b.tokens);
  EXPECT_EQ(a.ended, b.ended);
  EXPECT_NEAR(a.log_probability, b.log_probability, 1e-4);
  EXPECT_NEAR(a.score, b.score, 1e-4);
  ASSERT_EQ(a.weights.size(), b.weights.size());
  for (size_t t = 0; t < a.weights.size(); ++t) {
    ASSERT_EQ(a.weights[t].size(), b.weights[t].size());
    for (size_t s = 0; s < a.weights[t].size(); ++s)
      EXPECT_NEAR(a.weights[t][s], b.weights[t][s], 1e-5);
  }
}

DecodeOptions beam_of(int64_t beam, int64_t n_best = 1, const LengthPenalty& penalty = {}) {
  DecodeOptions o;
  o.beam = beam;
  o.n_best = n_best;
  o.length_penalty = penalty;
  return o;
}

TEST(Decode, ABatchIsTranslatedAsItsSentencesOneByOne) {
  bool some_ended = false, some_not = false;
  for (const NamedModel& kind : testing::decodable_models()) {
    SCOPED_TRACE(kind.name);
    std::unique_ptr<EncoderDecoder> model = with_bias(kind.yaml, kEnd, 1);
    for (int64_t beam : {1, 3}) {
      DecodeOptions options = beam_of(beam, beam);
      options.weights = true;
      auto together = decode(*model, sources(), options);
      ASSERT_EQ(together.size(), sources().size());
      for (size_t b = 0; b < together.size(); ++b) {
        std::vector<std::vector<Id>> one{sources()[b]};
        auto alone = decode(*model, one, options)[0];
        ASSERT_EQ(alone.size(), together[b].size());
        for (size_t i = 0; i < alone.size(); ++i) expect_equal(together[b][i], alone[i]);
        (together[b][0].ended ? some_ended : some_not) = true;
      }
    }
  }
  EXPECT_TRUE(some_ended && some_not) << "the models do not try both ways to end";
}

TEST(Decode, EachSentenceHasItsOwnLimitAndTheEndMarkComesThere) {
  for (const NamedModel& kind : testing::decodable_models()) {
    SCOPED_TRACE(kind.name);
    std::unique_ptr<EncoderDecoder> model = with_bias(kind.yaml, kEnd, -1000);
    for (int64_t beam : {1, 2}) {
      std::vector<Decoded> out = best(*model, sources(), beam_of(beam));
      for (size_t b = 0; b < out.size(); ++b) {
        EXPECT_EQ(out[b].tokens.size(), 2 * sources()[b].size() + 10);
        EXPECT_FALSE(out[b].ended);
        EXPECT_LT(out[b].log_probability, -900) << "the end mark counts";
      }
    }
    DecodeOptions three;
    three.max_length = 3;
    for (const Decoded& one : best(*model, sources(), three)) EXPECT_EQ(one.tokens.size(), 3u);
    three.max_length = 0;
    for (const Decoded& one : best(*model, sources(), three)) EXPECT_TRUE(one.tokens.empty());
  }
}

TEST(Decode, StopsAtTheEndMarkButNotBeforeMinLength) {
  std::unique_ptr<EncoderDecoder> model = with_bias(kBahdanau, kEnd, 1000);
  for (int64_t beam : {1, 3})
    for (int64_t least : {0, 2}) {
      DecodeOptions options = beam_of(beam);
      options.min_length = least;
      options.weights = true;
      for (const Decoded& one : best(*model, sources(), options)) {
        EXPECT_EQ(one.tokens.size(), static_cast<size_t>(least));
        EXPECT_TRUE(one.ended);
        EXPECT_EQ(one.weights.size(), one.tokens.size() + 1);
      }
    }
}

TEST(Decode, NeverChoosesPaddingOrTheBeginMark) {
  for (Id mark : {kPad, kBegin}) {
    std::unique_ptr<EncoderDecoder> model = with_bias(kBahdanau, mark, 1000);
    DecodeOptions drawn;
    drawn.sample = true;
    for (const DecodeOptions& options : {beam_of(1), beam_of(3), drawn})
      for (const Decoded& one : best(*model, sources(), options))
        for (Id token : one.tokens) EXPECT_TRUE(token == kUnknown || token >= kMarks) << token;
  }
}

TEST(Decode, GreedySaysTheMostProbableWord) {
  for (const NamedModel& kind : testing::decodable_models()) {
    SCOPED_TRACE(kind.name);
    std::unique_ptr<EncoderDecoder> model = with_bias(kind.yaml, kEnd, 1);
    std::vector<Decoded> out = best(*model, sources());
    for (size_t b = 0; b < out.size(); ++b) {
      std::vector<Example> pair{{sources()[b], out[b].tokens}};
      Batch batch = make_batch(pair);
      Variable log_p = log_softmax(model->forward(batch));
      int64_t chosen_by_model = batch.target.columns - (out[b].ended ? 0 : 1);
      for (int64_t t = 0; t < chosen_by_model; ++t)
        for (Id other = kEnd; other < kWords; ++other)
          EXPECT_LE(log_p.value().at({0, t, other}),
                    log_p.value().at({0, t, batch.target.at(0, t)}) + 1e-4);
    }
  }
}

/// Natural log-probability of a target, as `score` gives it.
double scored(const EncoderDecoder& model, const std::vector<Id>& source,
              const std::vector<Id>& target) {
  std::vector<double> log_p = score(model, {{source, target}})[0];
  return std::accumulate(log_p.begin(), log_p.end(), 0.0);
}

TEST(Decode, EveryHypothesisHasTheScoreOfItsLine) {
  for (const NamedModel& kind : testing::decodable_models()) {
    SCOPED_TRACE(kind.name);
    std::unique_ptr<EncoderDecoder> model = with_bias(kind.yaml, kEnd, 1);
    LengthPenalty gnmt{"gnmt", 0.6};
    DecodeOptions drawn;
    drawn.sample = true;
    drawn.temperature = 2;
    drawn.top_k = 5;
    drawn.n_best = 3;
    for (const DecodeOptions& options : {beam_of(5, 5, gnmt), beam_of(1), drawn}) {
      auto all = decode(*model, sources(), options);
      for (size_t b = 0; b < all.size(); ++b) {
        std::set<std::vector<Id>> different;
        for (size_t i = 0; i < all[b].size(); ++i) {
          const Decoded& one = all[b][i];
          EXPECT_NEAR(one.log_probability, scored(*model, sources()[b], one.tokens), 1e-3);
          EXPECT_DOUBLE_EQ(
              one.score, options.length_penalty.score(one.log_probability,
                                                      static_cast<int64_t>(one.tokens.size()) + 1));
          EXPECT_LE(one.score, all[b][i > 0 ? i - 1 : 0].score);
          different.insert(one.tokens);
        }
        EXPECT_TRUE(options.sample || different.size() == all[b].size());
      }
    }
  }
}

/// Every sentence of up to `limit` of the five words that may be said (one of them <unk>), the best
/// first.
std::vector<Decoded> exhaustive(const EncoderDecoder& model, const std::vector<Id>& source,
                                int64_t limit, const LengthPenalty& penalty) {
  std::vector<std::vector<Id>> all{{}};
  for (size_t begin = 0, length = 0; length < static_cast<size_t>(limit); ++length) {
    size_t end = all.size();
    for (size_t i = begin; i < end; ++i)
      for (Id word : {kUnknown, Id{4}, Id{5}, Id{6}, Id{7}}) {
        all.push_back(all[i]);
        all.back().push_back(word);
      }
    begin = end;
  }
  std::vector<Example> examples;
  for (const std::vector<Id>& target : all) examples.push_back({source, target});
  std::vector<std::vector<double>> log_p = score(model, examples, 512);
  std::vector<Decoded> out;
  for (size_t i = 0; i < all.size(); ++i) {
    double sum = std::accumulate(log_p[i].begin(), log_p[i].end(), 0.0);
    Decoded& one = out.emplace_back();
    one.tokens = all[i];
    one.log_probability = sum;
    one.score = penalty.score(sum, static_cast<int64_t>(all[i].size()) + 1);
  }
  std::stable_sort(out.begin(), out.end(),
                   [](const Decoded& a, const Decoded& b) { return a.score > b.score; });
  return out;
}

TEST(Decode, AWideBeamFindsWhatExhaustiveSearchFindsAndANarrowOneNothingBetter) {
  // Five words that may be said, sentences of at most 6 tokens, end mark included: V = 5, T = 6.
  std::unique_ptr<EncoderDecoder> model = with_bias(kBahdanau, kEnd, 0.5, 8);
  const std::vector<std::vector<Id>> source{{5, 7, 4}};
  for (auto [type, alpha] :
       {std::pair{"none", 0.0}, {"length", 0.6}, {"length", 1.0}, {"gnmt", 0.6}, {"gnmt", 1.0}}) {
    SCOPED_TRACE(format("{} {}", type, alpha));
    LengthPenalty penalty{type, alpha};
    std::vector<Decoded> expected = exhaustive(*model, source[0], 5, penalty);
    DecodeOptions options = beam_of(4000, 20, penalty);
    options.max_length = 5;
    std::vector<Decoded> found = decode(*model, source, options)[0];
    ASSERT_EQ(found.size(), 20u);
    for (size_t i = 0; i < 20; ++i) {
      EXPECT_NEAR(found[i].score, expected[i].score, 1e-4) << i;
      double gap = std::min(i > 0 ? expected[i - 1].score - expected[i].score : 1,
                            expected[i].score - expected[i + 1].score);
      EXPECT_TRUE(gap < 1e-3 || found[i].tokens == expected[i].tokens) << i;
    }
    for (int64_t beam : {1, 2, 5}) {
      DecodeOptions narrow = beam_of(beam, 1, penalty);
      narrow.max_length = 5;
      EXPECT_LE(best(*model, source, narrow)[0].score, expected[0].score + 1e-4);
    }
  }
}

TEST(Decode, AskingForMoreChangesNotTheBest) {
  for (const NamedModel& kind : testing::decodable_models()) {
    std::unique_ptr<EncoderDecoder> model = with_bias(kind.yaml, kEnd, 1);
    for (const char* type : {"none", "length", "gnmt"}) {
      LengthPenalty penalty{type, 0.8};
      std::vector<Decoded> one = best(*model, sources(), beam_of(5, 1, penalty)),
                           five = best(*model, sources(), beam_of(5, 5, penalty));
      for (size_t b = 0; b < one.size(); ++b) expect_equal(one[b], five[b]);
    }
  }
}

TEST(Decode, ManySentencesSayTheSameInAnyBatchAndOrder) {
  const Id count = testing::kSanitized ? 30 : 200;
  std::vector<std::vector<Id>> many;
  std::vector<uint64_t> numbers;
  for (Id i = 0; i < count; ++i) {
    many.emplace_back();
    numbers.push_back(static_cast<uint64_t>(i));
    for (Id s = 0; s < 1 + (i * 7) % 12; ++s) many.back().push_back(4 + (i * 5 + s * s) % 5);
  }
  std::vector<size_t> order(many.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = (i * 77 + 13) % many.size();
  DecodeOptions drawn;
  drawn.sample = true;
  for (const NamedModel& kind : testing::decodable_models())
    for (const DecodeOptions& options : {beam_of(1), beam_of(4), drawn}) {
      SCOPED_TRACE(kind.name);
      std::unique_ptr<EncoderDecoder> model = with_bias(kind.yaml, kEnd, 1);
      auto expected = translate(*model, many, options, 64);
      for (int64_t batch : {1, 7}) {
        auto got = translate(*model, many, options, batch);
        for (size_t i = 0; i < many.size(); ++i)
          ASSERT_EQ(got[i][0].tokens, expected[i][0].tokens) << i << " in batches of " << batch;
      }
      std::vector<std::vector<Id>> shuffled;
      std::vector<uint64_t> theirs;
      for (size_t i : order) {
        shuffled.push_back(many[i]);
        theirs.push_back(numbers[i]);
      }
      auto got = translate(*model, shuffled, options, 64, theirs);
      for (size_t i = 0; i < many.size(); ++i)
        ASSERT_EQ(got[i][0].tokens, expected[order[i]][0].tokens) << i << " shuffled";
    }
}

TEST(Sample, NearlyColdOrCutToOneWordIsGreedy) {
  std::unique_ptr<EncoderDecoder> model = with_bias(kBahdanau, kEnd, 1);
  std::vector<Decoded> greedy = best(*model, sources());
  DecodeOptions cold, one, little;
  cold.temperature = 1e-6;
  one.top_k = 1;
  little.top_p = 1e-9;
  for (DecodeOptions options : {cold, one, little}) {
    options.sample = true;
    std::vector<Decoded> drawn = best(*model, sources(), options);
    for (size_t b = 0; b < drawn.size(); ++b) EXPECT_EQ(drawn[b].tokens, greedy[b].tokens);
  }
}

TEST(Sample, WordsComeAsOftenAsTheModelSays) {
  std::unique_ptr<EncoderDecoder> model = build_model(kBahdanau, kWords, 3);
  std::vector<std::vector<Id>> source{{5, 6}};
  Batch batch = make_source_batch(source);
  Memory memory = model->encode(batch.source, batch.source_lengths);
  Step first = model->step(std::vector<Id>{kBegin}, model->start(memory), memory);
  for (double temperature : {1.0, 0.5}) {
    std::map<Id, double> expected;
    double total = 0;
    for (Id id : {kUnknown, kEnd, Id{4}, Id{5}, Id{6}, Id{7}, Id{8}})
      total += expected[id] = std::exp(first.logits.value().at({0, id}) / temperature);
    DecodeOptions options;
    options.sample = true;
    options.n_best = 4000;
    options.max_length = 1;
    options.temperature = temperature;
    std::map<Id, double> seen;
    auto all = decode(*model, source, options);
    for (const Decoded& one : all[0]) seen[one.tokens.empty() ? kEnd : one.tokens[0]] += 1;
    for (auto [id, weight] : expected) {
      double p = weight / total;
      EXPECT_NEAR(seen[id] / 4000, p, 4 * std::sqrt(p * (1 - p) / 4000)) << id;
    }
  }
}

TEST(Sample, TheSeedDecides) {
  std::unique_ptr<EncoderDecoder> model = build_model(kBahdanau, kWords, 3);
  DecodeOptions options;
  options.sample = true;
  std::vector<Decoded> one = best(*model, sources(), options),
                       again = best(*model, sources(), options);
  options.seed = 2;
  std::vector<Decoded> other = best(*model, sources(), options);
  bool different = false;
  for (size_t b = 0; b < one.size(); ++b) {
    EXPECT_EQ(one[b].tokens, again[b].tokens);
    different |= one[b].tokens != other[b].tokens;
  }
  EXPECT_TRUE(different);
}

TEST(Decode, KeepsARowOfWeightsAStepOverRealPositionsAlone) {
  for (const NamedModel& kind : testing::decodable_models()) {
    SCOPED_TRACE(kind.name);
    std::unique_ptr<EncoderDecoder> model = with_bias(kind.yaml, kEnd, 1);
    DecodeOptions options = beam_of(2);
    options.weights = true;
    std::vector<Decoded> out = best(*model, sources(), options);
    for (size_t b = 0; b < out.size(); ++b) {
      if (kind.name.find("type: none") != std::string::npos) {
        EXPECT_TRUE(out[b].weights.empty());
        continue;
      }
      EXPECT_EQ(out[b].weights.size(), out[b].tokens.size() + 1);
      for (const std::vector<Real>& step : out[b].weights) {
        size_t positions = sources()[b].size() + 1;
        ASSERT_EQ(step.size(), positions * static_cast<size_t>(out[b].layers * out[b].heads));
        for (size_t begin = 0; begin < step.size(); begin += positions)
          EXPECT_NEAR(
              std::accumulate(step.begin() + static_cast<ptrdiff_t>(begin),
                              step.begin() + static_cast<ptrdiff_t>(begin + positions), 0.0),
              1, 1e-5);
      }
    }
    for (const Decoded& one : best(*model, sources())) EXPECT_TRUE(one.weights.empty());
  }
}

TEST(Decode, AModelThatHasRunAwayEnds) {
  std::unique_ptr<EncoderDecoder> model =
      with_bias(kBahdanau, 5, std::numeric_limits<Real>::quiet_NaN());
  DecodeOptions drawn;
  drawn.sample = true;
  for (const DecodeOptions& options : {beam_of(1), beam_of(3), drawn})
    for (const Decoded& one : best(*model, sources(), options))
      EXPECT_FALSE(std::isfinite(one.log_probability));
}

TEST(Decode, WhatDoesNotGoTogetherIsRefused) {
  std::unique_ptr<EncoderDecoder> model = with_bias(kBahdanau, kEnd, 0);
  EXPECT_EQ(testing::error_text([&] { decode(*model, sources(), beam_of(2, 3)); }),
            "[decode] n_best is 3, but a beam of 2 finds at most 2; give beam: 3");
  DecodeOptions both = beam_of(2);
  both.sample = true;
  EXPECT_NE(testing::error_text([&] { decode(*model, sources(), both); }).find("beam is 2"),
            std::string::npos);
}

TEST(Decode, NothingInNothingOut) {
  std::unique_ptr<EncoderDecoder> model = with_bias(kBahdanau, kEnd, 0);
  EXPECT_TRUE(decode(*model, {}).empty());
}

TEST(Decode, RecordsNoHistory) {
  std::unique_ptr<EncoderDecoder> model = with_bias(kBahdanau, kEnd, -1000);
  uint64_t before = memory_counts().in_use_bytes;
  decode(*model, sources(), beam_of(2));
  EXPECT_EQ(memory_counts().in_use_bytes, before);
  EXPECT_TRUE(recording());
}

}  // namespace
}  // namespace lookback
