#include <gtest/gtest.h>

#include "autograd/gradient_check.h"
#include "support/models.h"
#include "support/transformers.h"

namespace lookback {
namespace {

using testing::build_model;
using testing::ModelKind;

/// Every parameter of the whole model against central differences, through encoder, attention and
/// decoder.
void expect_gradients(const std::string& yaml, const Pass& pass) {
  const int64_t words = 7;
  std::unique_ptr<EncoderDecoder> model = build_model(yaml, words);
  std::vector<Example> examples = {{{5, 6}, {4}}, {{4, 5, 6}, {6, 4, 5}}, {{}, {5, 5}}};
  Batch batch = make_batch(examples);
  std::vector<Variable> leaves;
  for (const Module::Named& p : model->parameters()) leaves.push_back(p.variable);
  auto loss = [&] {
    return std::vector<Variable>{
        cross_entropy(model->forward(batch, pass), batch.target,
                      {.ignore = kPad, .divide_by = 9, .label_smoothing = 0.1})};
  };
  Gradients gradients = backward(loss()[0]);
  for (const Module::Named& p : model->parameters())
    EXPECT_TRUE(gradients.contains(p.variable)) << p.name << " gets no gradient";
  GradientCheck check = check_gradients_of(loss, leaves);
  EXPECT_LT(check.worst, 2e-8) << check.where;
}

TEST(ModelGradient, OfEveryParameterWithDropoutOffAndOn) {
  for (ModelKind kind : testing::model_kinds())
    for (double dropout : {0.0, 0.3}) {
      kind.dropout = dropout;
      SCOPED_TRACE(kind.name());
      expect_gradients(kind.yaml(2, 3), {.training = dropout > 0, .key = {.seed = 4, .step = 9}});
    }
}

TEST(ModelGradient, WhereEncoderAndDecoderDiffer) {
  for (const char* attention :
       {"none", "bahdanau", "luong, query: current, input_feeding: true", "scaled_dot"})
    for (auto [encoder, decoder] : {std::pair{"lstm", "gru"}, std::pair{"gru", "lstm"}}) {
      SCOPED_TRACE(std::string(encoder) + " to " + decoder + " with " + attention);
      expect_gradients(
          format(
              "model:\n  encoder: {{cell: {}, embedding: 2, hidden: 2, layers: 1}}\n"
              "  decoder: {{cell: {}, embedding: 2, hidden: 3, layers: 2, initial_state: bridge}}\n"
              "  attention: {{type: {}}}\n",
              encoder, decoder, attention),
          {});
    }
}

TEST(ModelGradient, OfTransformersWithDropoutOffAndOn) {
  for (double dropout : {0.0, 0.3})
    for (const testing::TransformerKind& kind : testing::transformer_kinds(4, dropout)) {
      SCOPED_TRACE(kind.name);
      expect_gradients(kind.yaml(), {.training = dropout > 0, .key = {.seed = 4, .step = 9}});
    }
}

}  // namespace
}  // namespace lookback
