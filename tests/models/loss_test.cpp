#include <gtest/gtest.h>

#include "core/allocator.h"
#include "models/recurrent_encoder.h"
#include "nn/output_layer.h"
#include "support/error_text.h"
#include "support/registered.h"
#include "support/sanitized.h"

// The loss that training takes from a model is the cross entropy of the model's logits.

namespace lookback {
namespace {

using testing::Built;
using testing::error_text;

constexpr int64_t kWords = 11;

Batch batch() {
  std::vector<Example> examples = {
      {{5, 6, 7}, {4, 8}}, {{10}, {9, 9, 4, 5}}, {{4, 5, 6, 7, 8}, {}}, {{}, {7, 6, 10}}};
  return make_batch(examples);
}

void expect_the_loss_of_the_logits(const EncoderDecoder& model, const Pass& pass) {
  for (double smoothing : {0.0, 0.1}) {
    CrossEntropyOptions options{.ignore = kPad, .divide_by = 7, .label_smoothing = smoothing};
    TokenLoss got = model.loss(batch(), options, pass);
    Variable expected = cross_entropy(model.forward(batch(), pass), batch().target, options);
    EXPECT_NEAR(got.loss.item(), expected.item(), 1e-5);
    Gradients gradients = backward(got.loss), by_logits = backward(expected);
    for (const Module::Named& p : model.parameters()) {
      Tensor a = gradients.of(p.variable), b = by_logits.of(p.variable);
      ASSERT_EQ(a.defined(), b.defined()) << p.name;
      for (int64_t i = 0; a.defined() && i < a.count(); ++i)
        ASSERT_NEAR(a.data()[i], b.data()[i], 1e-5) << p.name << " " << i;
    }
    options.label_smoothing = 0;
    EXPECT_FALSE(got.nll.requires_grad());
    EXPECT_NEAR(got.nll.item(),
                cross_entropy(model.forward(batch(), pass), batch().target, options).item(), 1e-5);
  }
}

TEST(Loss, IsTheCrossEntropyOfTheLogits) {
  for (double dropout : {0.0, 0.3})
    for (const Built& built : testing::all_models({.words = kWords, .dropout = dropout})) {
      SCOPED_TRACE(built.yaml);
      expect_the_loss_of_the_logits(*built.model,
                                    {.training = dropout > 0, .key = {.seed = 4, .step = 9}});
    }
}

TEST(Loss, NeverHoldsTheLogitsOfAWholeBatch) {
  if (testing::kSanitized) GTEST_SKIP() << "the release build measures it";
  const int64_t words = 20'000;
  std::vector<Example> examples(32, {{5, 6, 7}, std::vector<Id>(15, 8)});
  Batch large = make_batch(examples);
  uint64_t logits = static_cast<uint64_t>(32 * 16 * words) * sizeof(Real);
  for (const Built& built : testing::all_combinations({.words = words})) {
    SCOPED_TRACE(built.yaml);
    reset_memory_peak();
    uint64_t before = memory_counts().in_use_bytes;
    backward(built.model->loss(large, {.ignore = kPad, .label_smoothing = 0.1}).loss);
    EXPECT_LT(memory_counts().peak_bytes - before, logits / 2);
  }
}

/// Says the next word from the one before and from nothing else.
class Bigrams : public Decoder {
 public:
  Bigrams()
      : embedding_({.words = kWords, .size = 3, .scaled = false}, {}),
        output_({.inputs = 3, .words = kWords}, {}) {
    child("embedding", embedding_);
    child("output", output_);
  }
  DecoderState start(const Memory&) const override { return {}; }
  Step step(std::span<const Id> previous, const DecoderState&, const Memory&) const override {
    IdMatrix ids(1, static_cast<int64_t>(previous.size()), kPad);
    ids.values.assign(previous.begin(), previous.end());
    Variable logits = output_(embedding_(ids));
    return {reshape(logits, {ids.columns, kWords}), {}, {}};
  }

 protected:
  Embedding embedding_;
  OutputLayer output_;
};

class WithLogits final : public Bigrams {
 public:
  Variable forward(const IdMatrix& inputs, const Lengths&, const Memory&,
                   const Pass&) const override {
    return output_(embedding_(inputs));
  }
};

class WithOutput final : public Bigrams {
 public:
  std::optional<LinearLogits> output(const IdMatrix& inputs, const Lengths&, const Memory&,
                                     const Pass&) const override {
    return output_.pending(embedding_(inputs));
  }
};

template <class OwnDecoder>
std::unique_ptr<EncoderDecoder> model_of() {
  auto model = std::make_unique<EncoderDecoder>(
      std::make_unique<RecurrentEncoder>(RecurrentEncoder::Options{.embedding = 3, .hidden = 4},
                                         kWords),
      std::make_unique<OwnDecoder>());
  model->initialize(3);
  return model;
}

TEST(Loss, ADecoderOfAUsersOwnHasForwardOrOutput) {
  auto with_logits = model_of<WithLogits>(), with_output = model_of<WithOutput>();
  expect_the_loss_of_the_logits(*with_logits, {});
  expect_the_loss_of_the_logits(*with_output, {});
  EXPECT_EQ(with_logits->loss(batch(), {}).loss.item(),
            cross_entropy(with_output->forward(batch()), batch().target).item());
  auto with_neither = model_of<Bigrams>();
  std::string text =
      "[decoder] a decoder must override forward() or output(), and this one has neither";
  EXPECT_EQ(error_text([&] { with_neither->loss(batch(), {}); }), text);
  EXPECT_EQ(error_text([&] { with_neither->forward(batch()); }), text);
}

}  // namespace
}  // namespace lookback
