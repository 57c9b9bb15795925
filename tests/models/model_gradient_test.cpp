#include <gtest/gtest.h>

#include "autograd/gradient_check.h"
#include "core/threads.h"
#include "support/registered.h"

namespace lookback {
namespace {

/// Every parameter of the whole model against central differences, through encoder, attention and
/// decoder.
void expect_gradients(const EncoderDecoder& model, const Pass& pass) {
  std::vector<Example> examples = {{{5, 6}, {4}}, {{4, 5, 6}, {6, 4, 5}}, {{}, {5, 5}}};
  Batch batch = make_batch(examples);
  std::vector<Variable> leaves;
  for (const Module::Named& p : model.parameters()) leaves.push_back(p.variable);
  auto loss = [&] {
    return std::vector<Variable>{
        cross_entropy(model.forward(batch, pass), batch.target,
                      {.ignore = kPad, .divide_by = 9, .label_smoothing = 0.1})};
  };
  Gradients gradients = backward(loss()[0]);
  for (const Module::Named& p : model.parameters())
    EXPECT_TRUE(gradients.contains(p.variable)) << p.name << " gets no gradient";
  // A small step: over four units a normalisation is curved enough for 1e-5 to be off by 2e-7.
  GradientCheck check = check_gradients_of(loss, leaves, 1e-6);
  EXPECT_LT(check.worst, 2e-8) << check.where;
}

TEST(ModelGradient, OfEveryParameterWithDropoutOffAndOn) {
  set_threads(1);
  for (double dropout : {0.0, 0.3})
    for (const testing::Built& built :
         testing::all_models({.embedding = 2, .hidden = 4, .words = 7, .dropout = dropout})) {
      SCOPED_TRACE(built.yaml);
      expect_gradients(*built.model, {.training = dropout > 0, .key = {.seed = 4, .step = 9}});
    }
}

}  // namespace
}  // namespace lookback
