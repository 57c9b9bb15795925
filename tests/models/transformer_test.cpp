#include <gtest/gtest.h>

#include <algorithm>

#include "autograd/ops.h"
#include "core/gemm.h"
#include "support/error_text.h"
#include "support/models.h"
#include "support/transformers.h"

// What is true of a Transformer alone; what every model must hold is in model_test.cpp, whose models
// include it.

namespace lookback {
namespace {

using testing::build_model;
using testing::error_text;
using testing::transformer_kinds;
using testing::TransformerKind;

constexpr int64_t kWords = 11;

std::string yaml(const std::string& both, const std::string& rest = "") {
  return format(
      "model:\n  encoder: {{type: transformer, {0}}}\n  decoder: {{type: transformer, {0}}}\n{1}",
      both, rest);
}

std::vector<Example> examples() {
  return {{{5, 6, 7}, {4, 8}}, {{10}, {9, 9, 4, 5}}, {{4, 5, 6, 7, 8}, {}}, {{}, {7, 6, 10}}};
}

/// The state after `steps` tokens a sentence.
DecoderState after(const EncoderDecoder& model, const Memory& memory, int64_t steps) {
  NoGrad no_history;
  DecoderState state = model.start(memory);
  for (int64_t t = 0; t < steps; ++t)
    state =
        model.step(std::vector<Id>(static_cast<size_t>(memory.batch()), 4 + t % 7), state, memory)
            .state;
  return state;
}

TEST(Transformer, TheCacheFallsByHeadsOverKeyValueHeads) {
  Batch batch = make_batch(examples());
  const int64_t B = 4, width = 24, heads = 6, layers = 2;
  for (int64_t pairs : {6, 3, 2, 1}) {
    auto model = build_model(
        yaml(format("width: {}, heads: {}, key_value_heads: {}, feed_forward: 5, layers: {}", width,
                    heads, pairs, layers)),
        kWords);
    Memory memory = model->encode(batch.source, batch.source_lengths);
    for (int64_t t : {0, 1, 5})
      EXPECT_EQ(after(*model, memory, t).bytes(),
                layers * B * t * 2 * pairs * (width / heads) * static_cast<int64_t>(sizeof(Real)))
          << pairs << " key-value heads, " << t << " tokens";
  }
}

TEST(Transformer, AStepIsOneTokensWork) {
  Batch batch = make_batch(examples());
  for (const TransformerKind& kind : transformer_kinds(8, 0)) {
    SCOPED_TRACE(kind.name);
    std::unique_ptr<EncoderDecoder> model = build_model(kind.yaml(), kWords);
    Memory memory = model->encode(batch.source, batch.source_lengths);
    NoGrad no_history;
    DecoderState state = model->start(memory);
    std::vector<uint64_t> flops;
    for (int64_t t = 0; t < 8; ++t) {
      uint64_t before = gemm_flops();
      state = model->step(std::vector<Id>(4, 5), state, memory).state;
      flops.push_back(gemm_flops() - before);
    }
    EXPECT_GT(flops[0], 0u);
    // Projections and feed-forward networks alone are products of matrices, and of one token's rows;
    // a query goes over its cache row by row.
    EXPECT_EQ(flops, std::vector<uint64_t>(8, flops[0]));
  }
}

TEST(Transformer, StatesAndMemoriesAreTakenByRow) {
  Batch batch = make_batch(examples());
  std::vector<int64_t> rows{3, 0, 0, 2};
  for (const TransformerKind& kind : transformer_kinds(8, 0))
    for (int64_t t : {0, 3}) {
      SCOPED_TRACE(kind.name + format(" after {} tokens", t));
      std::unique_ptr<EncoderDecoder> model = build_model(kind.yaml(), kWords);
      Memory memory = model->encode(batch.source, batch.source_lengths);
      DecoderState state = after(*model, memory, t);
      Tensor all = model->step(std::vector<Id>{4, 5, 6, 7}, state, memory).logits.value();
      Tensor some = model->step(std::vector<Id>{7, 4, 4, 6}, state.take(rows), memory.take(rows))
                        .logits.value();
      for (size_t i = 0; i < rows.size(); ++i)
        for (int64_t v = 0; v < kWords; ++v)
          ASSERT_NEAR(some.at({static_cast<int64_t>(i), v}), all.at({rows[i], v}), 1e-6);
    }
}

TEST(Transformer, WeightsOfEveryLayerAndHeadSumToOneOverTheRealSource) {
  Batch batch = make_batch(examples());
  auto model = build_model(yaml("width: 8, heads: 4, key_value_heads: 2, layers: 3"), kWords);
  Memory memory = model->encode(batch.source, batch.source_lengths);
  Step step = model->step(std::vector<Id>(4, 5), after(*model, memory, 2), memory);
  const int64_t S = batch.source.columns;
  ASSERT_EQ(step.weights.shape(), Shape({4, 3, 4, S}));
  for (int64_t b = 0; b < 4; ++b)
    for (int64_t place = 0; place < 12; ++place) {
      const Real* row = step.weights.value().data() + (b * 12 + place) * S;
      double sum = 0;
      for (int64_t s = 0; s < S; ++s) {
        sum += row[s];
        EXPECT_EQ(row[s] > 0, s < batch.source_lengths[b]);
      }
      EXPECT_NEAR(sum, 1, 1e-6);
    }
}

TEST(Transformer, ThePaddingOfItsMemoryIsZero) {
  Batch batch = make_batch(examples());
  Memory memory = build_model(yaml("width: 8, heads: 2, layers: 1"), kWords)
                      ->encode(batch.source, batch.source_lengths);
  for (int64_t b = 0; b < 4; ++b)
    for (int64_t s = 0; s < batch.source.columns; ++s)
      for (int64_t d = 0; d < 8; ++d)
        EXPECT_EQ(memory.states.value().at({b, s, d}) == 0, s >= batch.source_lengths[b]);
}

TEST(Transformer, ARandomOffsetIsDrawnInTrainingAlone) {
  Batch batch = make_batch(examples());
  for (const char* positions : {"sinusoidal", "learned, max_positions: 40"}) {
    SCOPED_TRACE(positions);
    std::string both = format("width: 8, heads: 2, layers: 1, positions: {}", positions);
    auto still = build_model(yaml(both), kWords),
         moves = build_model(yaml(both, "  random_offset: 30\n"), kWords);
    auto logits = [&](const EncoderDecoder& model, bool training, uint64_t step) {
      Pass pass{.training = training, .key = {.seed = 1, .step = step}};
      Tensor out = model.forward(batch, pass).value();
      return std::vector<Real>(out.values().begin(), out.values().end());
    };
    EXPECT_EQ(logits(*moves, false, 1), logits(*still, false, 1));
    EXPECT_NE(logits(*moves, true, 1), logits(*still, true, 1));
    EXPECT_NE(logits(*moves, true, 1), logits(*moves, true, 2));
    EXPECT_EQ(logits(*moves, true, 1), logits(*moves, true, 1));
  }
}

TEST(Transformer, ASentencePastALearnedTableIsNamed) {
  std::vector<Example> long_source{{{5}, {4}}, {{5, 6, 7, 8, 9}, {4}}},
      long_target{{{5}, {4}}, {{5}, {4, 5, 6, 7, 8, 9}}};
  auto model = build_model(
      yaml("width: 8, heads: 2, layers: 1, positions: learned, max_positions: 5"), kWords);
  EXPECT_EQ(model->max_source_positions(), 5);
  EXPECT_EQ(model->max_target_positions(), 5);
  EXPECT_EQ(error_text([&] { model->forward(make_batch(long_source)); }),
            "[positions] sentence 1 has 6 tokens, but the learned table ends at 5 (max_positions)");
  EXPECT_EQ(error_text([&] { model->forward(make_batch(long_target)); }),
            "[positions] sentence 1 has 7 tokens, but the learned table ends at 5 (max_positions)");
  // The longest that fits does so also in training, where it leaves the offset no room.
  std::vector<Example> full{{{5, 6, 7, 8}, {4, 5, 6, 7}}, {{}, {}}};
  auto moves =
      build_model(yaml("width: 8, heads: 2, layers: 1, positions: learned, max_positions: 5",
                       "  random_offset: 90\n"),
                  kWords);
  for (uint64_t step = 0; step < 20; ++step)
    moves->forward(make_batch(full), {.training = true, .key = {.seed = 1, .step = step}});
  auto free = build_model(yaml("width: 8, heads: 2, layers: 1"), kWords);
  EXPECT_EQ(free->max_source_positions(), -1);
  EXPECT_EQ(free->max_target_positions(), -1);
}

TEST(Transformer, ParametersAreNamedAsInTorch) {
  std::vector<std::string> names;
  for (const Module::Named& p :
       build_model(yaml("width: 8, heads: 2, layers: 1, positions: learned"), kWords)->parameters())
    names.push_back(p.name);
  auto expand = [](const std::string& side, const std::vector<std::string>& norms,
                   const std::vector<std::string>& attentions) {
    std::vector<std::string> out{side + ".embedding.weight", side + ".positions.weight"};
    std::string layer = side + ".layers.0.";
    for (const std::string& attention : attentions)
      for (const char* p : {"in_proj_weight", "in_proj_bias", "out_proj.weight", "out_proj.bias"})
        out.push_back(layer + attention + "." + p);
    std::vector<std::string> rest{"linear1", "linear2"};
    rest.insert(rest.end(), norms.begin(), norms.end());
    for (const std::string& part : rest)
      for (const char* p : {".weight", ".bias"}) out.push_back(layer + part + p);
    for (const char* p : {".weight", ".bias"}) out.push_back(side + ".norm" + p);
    return out;
  };
  std::vector<std::string> expected = expand("encoder", {"norm1", "norm2"}, {"self_attn"});
  for (const std::string& name :
       expand("decoder", {"norm1", "norm2", "norm3"}, {"self_attn", "multihead_attn"}))
    expected.push_back(name);
  expected.push_back("decoder.output.weight");
  expected.push_back("decoder.output.bias");
  EXPECT_EQ(names, expected);
}

TEST(TransformerConfig, MistakesAreNamedWithTheirPlaceAndTheRule) {
  auto text = [](const std::string& model) {
    return error_text([&] { build_model("model:\n" + model, kWords); });
  };
  EXPECT_EQ(text("  encoder:\n    type: transformer\n    width: 250\n    heads: 4\n"),
            "test.yaml:5: model.encoder.heads: width: 250 is not a multiple of heads: 4; each head "
            "gets width / heads units");
  EXPECT_EQ(text("  decoder:\n    type: transformer\n    heads: 8\n    key_value_heads: 3\n"),
            "test.yaml:5: model.decoder.key_value_heads: heads: 8 is not a multiple of "
            "key_value_heads: 3; each key-value head serves heads / key_value_heads heads");
  EXPECT_EQ(
      text("  encoder: {type: transformer}\n  decoder:\n    type: recurrent\n"
           "    initial_state: zero\n"),
      "test.yaml:3: model.decoder: a fixed context needs a recurrent encoder; give the model an "
      "attention");
  EXPECT_EQ(
      text("  encoder: {type: transformer, width: 12}\n"
           "  decoder: {type: transformer, width: 8}\n  tie_embeddings: all\n"),
      "test.yaml:4: model.tie_embeddings: the decoder's word vectors have 8 units, the encoder's 12; one table for \"all\" needs them equal");
  auto starts = [&](const std::string& model, const std::string& expected) {
    EXPECT_EQ(text(model).substr(0, expected.size()), expected);
  };
  starts("  decoder: {type: transformer}\n  attention:\n    type: bahdanau\n",
         "test.yaml:4: model.attention.type: ");
  starts("  decoder: {type: transformer}\n  attention: {units: 3}\n",
         "test.yaml:3: model.attention.units: unknown key");
  starts("  encoder: {type: transformer, norm: between}\n", "test.yaml:2: model.encoder.norm: ");
  starts("  encoder: {type: transformer, max_positions: 9}\n  decoder: {type: transformer}\n",
         "test.yaml:2: model.encoder.max_positions: ");
  starts("  random_offset: 3\n", "test.yaml:2: model.random_offset: unknown key");
}

}  // namespace
}  // namespace lookback
