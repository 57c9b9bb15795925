#include "core/kernels/transpose.h"

#include <gtest/gtest.h>

#include "support/random_tensor.h"

namespace lookback {
namespace {

using testing::random_tensor;

TEST(AddTransposed, AddsEachElementOnceAndTouchesNothingBeside) {
  for (int64_t rows : {0, 1, 7, 8, 9, 24, 33})
    for (int64_t columns : {0, 1, 7, 8, 9, 24, 33})
      for (int64_t gap : {0, 5}) {
        Tensor from = random_tensor({rows + 1, columns + gap}, 1),
               to = random_tensor({columns + 1, rows + gap}, 2), before = to.clone();
        kernels::add_transposed(from.data(), columns + gap, rows, columns, to.data(), rows + gap);
        for (int64_t j = 0; j <= columns; ++j)
          for (int64_t i = 0; i < rows + gap; ++i) {
            const bool inside = j < columns && i < rows;
            const Real added = inside ? from.at({i, j}) : Real{0};
            ASSERT_EQ(to.at({j, i}), before.at({j, i}) + added)
                << rows << " x " << columns << " gap " << gap << " at " << j << ", " << i;
          }
      }
}

}  // namespace
}  // namespace lookback
