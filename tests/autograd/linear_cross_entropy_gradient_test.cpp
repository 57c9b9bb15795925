#include "support/composed_loss.h"

// In double, where a difference of 1e-10 is no rounding.

namespace lookback {
namespace {

TEST(LinearCrossEntropyGradient, EqualsItsSingleOps) {
  testing::expect_equal_to_composed(1e-10);
}

}  // namespace
}  // namespace lookback
