#include "parity/parity.h"

// Losses against what PyTorch computed (losses.py).

namespace lookback {
namespace {

TEST(Parity, CrossEntropyWithIgnoredTargetsAndSmoothing) {
  for (double smoothing : {0.0, 0.1, 0.4})
    for (bool mean : {false, true}) {
      testing::Parity c(format("cross_entropy_{}_{:.1f}", mean ? "mean" : "sum", smoothing));
      IdMatrix targets = c.ids("targets");
      double counted = 0;
      for (Id id : targets.values) counted += id != 0;
      c.result("loss",
               cross_entropy(
                   c.input("logits"), targets,
                   {.ignore = 0, .divide_by = mean ? counted : 1, .label_smoothing = smoothing}));
      c.expect_gradients();
    }
}

}  // namespace
}  // namespace lookback
