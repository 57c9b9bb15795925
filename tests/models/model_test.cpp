#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "autograd/ops.h"
#include "core/threads.h"
#include "support/error_text.h"
#include "support/registered.h"
#include "support/sanitized.h"

// What every model must hold, whatever it is made of: forward = step after step, a batch = its
// sentences one by one, and padding that changes nothing.

namespace lookback {
namespace {

using testing::all_models;
using testing::build_model;
using testing::Built;
using testing::error_text;
using testing::ModelKind;
using testing::transformer_kinds;
using testing::TransformerKind;

constexpr int64_t kWords = 11;

/// Sentences of different lengths, an empty source and an empty target among them.
std::vector<Example> examples() {
  return {{{5, 6, 7}, {4, 8}}, {{10}, {9, 9, 4, 5}}, {{4, 5, 6, 7, 8}, {}}, {{}, {7, 6, 10}}};
}

Variable loss_of(const EncoderDecoder& model, const Batch& batch, const Pass& pass = {}) {
  return cross_entropy(model.forward(batch, pass), batch.target,
                       {.ignore = kPad, .label_smoothing = 0.1});
}

/// The same sentences with more columns of padding.
IdMatrix widened(const IdMatrix& ids, int64_t columns) {
  IdMatrix out(ids.rows, ids.columns + columns, kPad);
  for (int64_t b = 0; b < ids.rows; ++b)
    for (int64_t s = 0; s < ids.columns; ++s) out.at(b, s) = ids.at(b, s);
  return out;
}

/// The same sentences with any words where padding was.
IdMatrix scribbled(IdMatrix ids, const Lengths& lengths) {
  for (int64_t b = 0; b < ids.rows; ++b)
    for (int64_t s = lengths[static_cast<size_t>(b)]; s < ids.columns; ++s)
      ids.at(b, s) = static_cast<Id>(1 + (3 * b + 5 * s) % (kWords - 1));
  return ids;
}

void expect_near(const Tensor& a, const Tensor& b, double tolerance, const std::string& what) {
  ASSERT_EQ(a.defined(), b.defined()) << what;
  if (!a.defined()) return;
  ASSERT_EQ(a.shape(), b.shape()) << what;
  for (int64_t i = 0; i < a.count(); ++i)
    ASSERT_NEAR(a.data()[i], b.data()[i], tolerance) << what << " " << i;
}

/// Loss and every parameter's gradient.
struct Outcome {
  Tensor loss;
  std::vector<std::pair<std::string, Tensor>> gradients;
};

Outcome outcome(const EncoderDecoder& model, const Batch& batch, const Pass& pass = {}) {
  Variable loss = loss_of(model, batch, pass);
  Gradients gradients = backward(loss);
  Outcome out{loss.value(), {}};
  for (const Module::Named& p : model.parameters())
    out.gradients.emplace_back(p.name, gradients.of(p.variable));
  return out;
}

void expect_near(const Outcome& a, const Outcome& b, double tolerance) {
  expect_near(a.loss, b.loss, tolerance * 10, "loss");
  for (size_t i = 0; i < a.gradients.size(); ++i)
    expect_near(a.gradients[i].second, b.gradients[i].second, tolerance, a.gradients[i].first);
}

TEST(Model, ForwardEqualsRepeatedStep) {
  Batch batch = make_batch(examples());
  for (const Built& built : all_models()) {
    SCOPED_TRACE(built.yaml);
    Tensor logits = built.model->forward(batch).value();
    ASSERT_EQ(logits.shape(), Shape({4, batch.target.columns, kWords}));
    Memory memory = built.model->encode(batch.source, batch.source_lengths);
    DecoderState state = built.model->start(memory);
    for (int64_t t = 0; t < batch.target.columns; ++t) {
      std::vector<Id> previous;
      for (int64_t b = 0; b < 4; ++b) previous.push_back(batch.decoder_input.at(b, t));
      Step step = built.model->step(previous, state, memory);
      state = step.state;
      for (int64_t b = 0; b < 4; ++b)
        for (int64_t v = 0; t < batch.target_lengths[b] && v < kWords; ++v)
          ASSERT_NEAR(step.logits.value().at({b, v}), logits.at({b, t, v}), 1e-5) << b << " " << t;
    }
  }
}

TEST(Model, ABatchEqualsItsSentencesOneByOne) {
  Batch batch = make_batch(examples());
  for (const Built& built : all_models()) {
    SCOPED_TRACE(built.yaml);
    Tensor together = built.model->forward(batch).value();
    for (int64_t b = 0; b < 4; ++b) {
      std::vector<int64_t> row{b};
      Tensor alone = built.model->forward(select(batch, row)).value();
      for (int64_t t = 0; t < batch.target_lengths[b]; ++t)
        for (int64_t v = 0; v < kWords; ++v)
          ASSERT_NEAR(together.at({b, t, v}), alone.at({0, t, v}), 1e-5) << b << " " << t;
    }
  }
}

TEST(Model, TheGradientOfABatchIsTheSumOverItsSentences) {
  Batch batch = make_batch(examples());
  for (const Built& built : all_models()) {
    SCOPED_TRACE(built.yaml);
    Outcome together = outcome(*built.model, batch), sum;
    for (int64_t b = 0; b < 4; ++b) {
      std::vector<int64_t> row{b};
      Outcome one = outcome(*built.model, select(batch, row));
      for (size_t i = 0; i < one.gradients.size() && b > 0; ++i)
        for (int64_t j = 0; j < one.gradients[i].second.count(); ++j)
          one.gradients[i].second.data()[j] += sum.gradients[i].second.data()[j];
      if (b > 0) one.loss.data()[0] += sum.loss.item();
      sum = one;
    }
    expect_near(together, sum, 2e-5);
  }
}

TEST(Model, PaddingChangesNoLossAndNoGradient) {
  Batch batch = make_batch(examples()), wide = batch;
  wide.source = widened(batch.source, 3);
  wide.decoder_input = widened(batch.decoder_input, 2);
  wide.target = widened(batch.target, 2);
  for (const Built& built : all_models()) {
    SCOPED_TRACE(built.yaml);
    expect_near(outcome(*built.model, batch), outcome(*built.model, wide), 5e-6);
  }
}

TEST(Model, WhatStandsInThePaddingChangesNothing) {
  Batch batch = make_batch(examples()), other = batch;
  other.source = scribbled(batch.source, batch.source_lengths);
  other.decoder_input = scribbled(batch.decoder_input, batch.target_lengths);
  ASSERT_NE(other.source.values, batch.source.values);
  for (const Built& built : all_models()) {
    SCOPED_TRACE(built.yaml);
    expect_near(outcome(*built.model, batch), outcome(*built.model, other), 0);
  }
}

TEST(Model, SourcePaddingIsNeverRead) {
  Batch batch = make_batch(examples());
  for (const Built& built : all_models()) {
    if (built.shares_source_vectors) continue;  // the output layer reads the padding's row
    SCOPED_TRACE(built.yaml);
    Outcome clean = outcome(*built.model, batch);
    for (Module::Named& p : built.model->parameters())
      if (p.name == "encoder.embedding.weight")
        p.variable.leaf_value().rows(kPad, 1).fill(std::numeric_limits<Real>::quiet_NaN());
    expect_near(clean, outcome(*built.model, batch), 0);
  }
}

TEST(Model, DropoutDrawsTheSameForASentenceInAnyBatch) {
  Batch batch = make_batch(examples());
  for (const Built& built : all_models({.dropout = 0.4})) {
    SCOPED_TRACE(built.yaml);
    const std::unique_ptr<EncoderDecoder>& model = built.model;
    Pass pass{.training = true, .key = {.seed = 1, .step = 5, .index = 100}};
    Tensor together = model->forward(batch, pass).value(), without = model->forward(batch).value();
    EXPECT_NE(together.at({0, 0, 4}), without.at({0, 0, 4}));
    for (int64_t b = 0; b < 4; ++b) {
      Pass own = pass;
      own.key.index = 100 + static_cast<uint64_t>(b);
      std::vector<int64_t> row{b};
      Tensor alone = model->forward(select(batch, row), own).value();
      for (int64_t t = 0; t < batch.target_lengths[b]; ++t)
        for (int64_t v = 0; v < kWords; ++v)
          ASSERT_NEAR(together.at({b, t, v}), alone.at({0, t, v}), 1e-5);
    }
  }
}

TEST(Model, AttentionWeightsSumToOneAndAreExactlyZeroOnPadding) {
  Batch batch = make_batch(examples());
  for (const Built& built : all_models()) {
    SCOPED_TRACE(built.yaml);
    Memory memory = built.model->encode(batch.source, batch.source_lengths);
    DecoderState state = built.model->start(memory);
    for (Id token : {kBegin, Id{5}, Id{9}}) {
      Step step = built.model->step(std::vector<Id>(4, token), state, memory);
      state = step.state;
      ASSERT_EQ(step.weights.defined(), built.attends().value_or(step.weights.defined()));
      if (!step.weights.defined()) break;
      ASSERT_EQ(step.weights.rank(), 4);
      ASSERT_EQ(step.weights.size(0), 4);
      ASSERT_EQ(step.weights.size(3), batch.source.columns);
      // A row for each sentence, layer and head.
      int64_t rows = step.weights.count() / batch.source.columns;
      for (int64_t row = 0; row < rows; ++row) {
        double sum = 0;
        for (int64_t s = 0; s < batch.source.columns; ++s) {
          Real weight = step.weights.value().data()[row * batch.source.columns + s];
          sum += weight;
          if (s < batch.source_lengths[row / (rows / 4)])
            EXPECT_GT(weight, 0);
          else
            EXPECT_EQ(weight, 0);
        }
        EXPECT_NEAR(sum, 1, 1e-6);
      }
    }
  }
}

TEST(Model, BitsDoNotDependOnTheNumberOfThreads) {
  int before = threads();
  std::vector<Example> many;
  for (Id i = 0; i < 24; ++i) {
    Example e;
    for (Id s = 0; s < 4 + i % 13; ++s) e.source.push_back(4 + (i * 7 + s * 3) % 7);
    for (Id t = 0; t < 3 + i % 11; ++t) e.target.push_back(4 + (i * 5 + t) % 7);
    many.push_back(e);
  }
  Batch batch = make_batch(many);
  // Sizes at which the work is shared out.
  const testing::ModelSizes sizes{.embedding = 40, .hidden = 96, .words = kWords, .dropout = 0.2};
  std::vector<Built> models = testing::all_combinations(sizes);
  for (ModelKind kind : testing::model_kinds({"gru", "lstm"})) {
    if (kind.layers == 2 && !kind.bidirectional) continue;
    kind.dropout = sizes.dropout;
    std::string yaml = kind.yaml(sizes.embedding, sizes.hidden);
    models.push_back({.yaml = yaml, .model = build_model(yaml, kWords)});
  }
  for (size_t i = 0; i < models.size(); i += testing::kSanitized ? 4 : 1) {
    const Built& built = models[i];
    SCOPED_TRACE(built.yaml);
    const std::unique_ptr<EncoderDecoder>& model = built.model;
    Pass pass{.training = true, .key = {.seed = 2}};
    set_threads(1);
    Outcome one = outcome(*model, batch, pass);
    for (int team : {2, 5}) {
      set_threads(team);
      expect_near(one, outcome(*model, batch, pass), 0);
    }
  }
  set_threads(before);
}

TEST(Model, ParametersAreNamedByTheirPlace) {
  auto names = [](const std::string& yaml) {
    std::vector<std::string> out;
    for (const Module::Named& p : build_model(yaml, kWords)->parameters()) out.push_back(p.name);
    return out;
  };
  EXPECT_EQ(
      names(ModelKind{.cell = "lstm", .attention = "type: bahdanau", .bidirectional = true}.yaml(
          3, 4)),
      (std::vector<std::string>{"encoder.embedding.weight",
                                "encoder.rnn.weight_ih_l0",
                                "encoder.rnn.weight_hh_l0",
                                "encoder.rnn.bias_ih_l0",
                                "encoder.rnn.bias_hh_l0",
                                "encoder.rnn.weight_ih_l0_reverse",
                                "encoder.rnn.weight_hh_l0_reverse",
                                "encoder.rnn.bias_ih_l0_reverse",
                                "encoder.rnn.bias_hh_l0_reverse",
                                "decoder.embedding.weight",
                                "decoder.rnn.weight_ih_l0",
                                "decoder.rnn.weight_hh_l0",
                                "decoder.rnn.bias_ih_l0",
                                "decoder.rnn.bias_hh_l0",
                                "decoder.attention.query.weight",
                                "decoder.attention.key.weight",
                                "decoder.attention.v",
                                "decoder.bridge.hidden_l0.weight",
                                "decoder.bridge.hidden_l0.bias",
                                "decoder.bridge.cell_l0.weight",
                                "decoder.bridge.cell_l0.bias",
                                "decoder.output.weight",
                                "decoder.output.bias"}));
  auto decoders = [&](const std::string& attention) {
    std::vector<std::string> out;
    for (const std::string& name : names(ModelKind{.attention = attention}.yaml(3, 4)))
      if (name.find("decoder.attention") == 0) out.push_back(name.substr(8));
    return out;
  };
  using Names = std::vector<std::string>;
  EXPECT_EQ(decoders("type: luong, score: dot"), Names{});
  EXPECT_EQ(decoders("type: luong, score: general, query: current"),
            (Names{"attention.key.weight", "attentional.weight"}));
  EXPECT_EQ(decoders("type: luong, score: concat"),
            (Names{"attention.joint.weight", "attention.v"}));
  EXPECT_EQ(decoders("type: scaled_dot"),
            (Names{"attention.query.weight", "attention.key.weight", "attention.value.weight"}));
}

TEST(ModelConfig, MistakesAreNamedWithTheirPlaceAndTheRemedy) {
  auto text = [](const std::string& model) {
    return error_text([&] { build_model("model:\n" + model, kWords); });
  };
  EXPECT_EQ(
      text("  encoder: {hidden: 8, bidirectional: true}\n  decoder:\n    hidden: 8\n    "
           "initial_state: last\n"),
      "test.yaml:5: model.decoder.initial_state: \"last\" hands the encoder's last states on "
      "unchanged, so the "
      "decoder needs hidden: 16 and layers: 1, but has 8 and 1; or use initial_state: bridge");
  EXPECT_EQ(text("  encoder: {hidden: 8}\n  decoder: {hidden: 8, layers: 2}\n"),
            "test.yaml:3: model.decoder.initial_state: \"last\" hands the encoder's last states on "
            "unchanged, so the "
            "decoder needs hidden: 8 and layers: 1, but has 8 and 2; or use initial_state: bridge");
  auto starts = [&](const std::string& model, const std::string& expected) {
    EXPECT_EQ(text(model).substr(0, expected.size()), expected);
  };
  starts("  encoder: {cell: grv}\n",
         "test.yaml:2: model.encoder.cell: unknown cell \"grv\"; did you mean \"gru\"?");
  starts("  attention: {type: bahdanaw}\n", "test.yaml:2: model.attention.type: ");
  starts("  attention: {type: luong, score: dat}\n", "test.yaml:2: model.attention.score: ");
  starts("  attention: {type: luong, score: dot, units: 3}\n",
         "test.yaml:2: model.attention.units: unknown key");
  starts("  attention: {type: none, query: current}\n",
         "test.yaml:2: model.attention.query: unknown key");
  starts("  attention: {input_feeding: true}\n",
         "test.yaml:2: model.attention.input_feeding: unknown key");
  EXPECT_EQ(
      text("  encoder: {hidden: 8, bidirectional: true}\n  decoder: {hidden: 8, initial_state: "
           "bridge}\n  attention:\n    type: luong\n    score: dot\n"),
      "test.yaml:6: model.attention.score: \"dot\" multiplies the decoder's state with the "
      "encoder's unit by unit, but the decoder has hidden: 8 and an encoder state has 16 units; "
      "make them equal, or use score: general or concat, which fit any sizes");
  EXPECT_EQ(text("  attention:\n    type: luong\n    input_feeding: true\n"),
            "test.yaml:4: model.attention.input_feeding: feeds the attentional state of a step to "
            "the next one, and only query: current makes such a state (with query: previous the "
            "context enters the cell anyway); add query: current");
  EXPECT_EQ(text("  attention: {type: luong, query: current}\n  tie_embeddings: decoder\n"),
            "test.yaml:3: model.tie_embeddings: the decoder's word vectors have 64 units, but its "
            "output layer reads 128 (decoder hidden 128); one table needs them equal");
  // One table is as wide as the output layer reads, and as the encoder's vectors are.
  EXPECT_EQ(text("  encoder: {hidden: 8}\n  decoder: {embedding: 12, hidden: 8}\n"
                 "  tie_embeddings: decoder\n"),
            "test.yaml:4: model.tie_embeddings: the decoder's word vectors have 12 units, but its "
            "output layer reads 16 (decoder hidden 8 + encoder states 8); one table needs them "
            "equal");
  EXPECT_EQ(text("  encoder: {embedding: 5, hidden: 8}\n  decoder: {embedding: 16, hidden: 8}\n"
                 "  tie_embeddings: all\n"),
            "test.yaml:4: model.tie_embeddings: the decoder's word vectors have 16 units, the "
            "encoder's 5; one table for \"all\" needs them equal");
  starts("  tie_embeddings: al\n", "test.yaml:2: model.tie_embeddings: ");
  starts("  encoder: {hiden: 3}\n",
         "test.yaml:2: model.encoder.hiden: unknown key; did you mean \"hidden\"?");
  starts("  decoder: {type: transformr}\n", "test.yaml:2: model.decoder.type: ");
  starts("  encoder: {layers: 0}\n", "test.yaml:2: model.encoder.layers: ");
  const std::string transformer = "  encoder: {type: transformer}\n";
  EXPECT_EQ(
      text(transformer + "  decoder: {hidden: 8}\n"),
      "test.yaml:3: model.decoder.initial_state: \"last\" needs the last state of a recurrent "
      "encoder, and this one is none; use initial_state: zero");
  EXPECT_EQ(text(transformer + "  decoder: {type: transformer}\n  attention: {type: luong}\n"),
            "test.yaml:4: model.attention.type: \"luong\" is for a recurrent decoder; a "
            "Transformer's has attention of its own, so leave model.attention out");
  starts("  encoder: {dropout: 1.0}\n", "test.yaml:2: model.encoder.dropout: ");
}

}  // namespace
}  // namespace lookback
