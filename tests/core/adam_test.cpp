#include "core/kernels/adam.h"

#include <gtest/gtest.h>

#include <cmath>

#include "support/random_tensor.h"

namespace lookback {
namespace {

using testing::random_tensor;

TEST(AdamKernel, FollowsItsFormulaInVectorsAndInWhatIsLeft) {
  const kernels::AdamStep step{.beta1 = Real(0.9),
                               .beta2 = Real(0.98),
                               .keep1 = Real(0.1),
                               .keep2 = Real(0.02),
                               .rate = Real(0.3),
                               .unbias = Real(1.7),
                               .eps = Real(1e-3),
                               .scale = Real(0.6),
                               .added = Real(0.25),
                               .shrink = Real(0.95)};
  for (int64_t count : {0, 1, 7, 8, 19, 64}) {
    // One more on either side, which must stay as it is.
    Tensor g = random_tensor({count + 2}, 1), w = random_tensor({count + 2}, 2),
           m = random_tensor({count + 2}, 3), v = random_tensor({count + 2}, 4, 0, 1);
    const Tensor w0 = w.clone(), m0 = m.clone(), v0 = v.clone();
    kernels::adam(step, g.data() + 1, w.data() + 1, m.data() + 1, v.data() + 1, count);
    for (int64_t i = 0; i < count + 2; ++i) {
      bool inside = i > 0 && i <= count;
      double gradient = 0.6 * g.at({i}) + 0.25 * w0.at({i});
      double first = inside ? 0.9 * m0.at({i}) + 0.1 * gradient : m0.at({i});
      double second = inside ? 0.98 * v0.at({i}) + 0.02 * gradient * gradient : v0.at({i});
      double weight =
          inside ? 0.95 * w0.at({i}) - 0.3 * first / (std::sqrt(second) * 1.7 + 1e-3) : w0.at({i});
      ASSERT_NEAR(m.at({i}), first, 1e-6) << i << " of " << count;
      ASSERT_NEAR(v.at({i}), second, 1e-6) << i << " of " << count;
      ASSERT_NEAR(w.at({i}), weight, 1e-5) << i << " of " << count;
    }
  }
}

}  // namespace
}  // namespace lookback
