#include "core/shape.h"

#include <gtest/gtest.h>

#include "support/error_text.h"

namespace lookback {
namespace {

using testing::error_text;

TEST(Shape, CountsElementsRowsAndColumns) {
  Shape shape{4, 3, 5};
  EXPECT_EQ(shape.rank(), 3);
  EXPECT_EQ(shape.count(), 60);
  EXPECT_EQ(shape.rows(), 12);
  EXPECT_EQ(shape.columns(), 5);
  EXPECT_EQ(shape[0], 4);
  EXPECT_EQ(shape[-1], 5);
  EXPECT_EQ(shape[-3], 4);
  EXPECT_EQ(shape.axis(-2), 1);
  EXPECT_EQ(shape.text(), "(4, 3, 5)");
}

TEST(Shape, AScalarHasOneElementAndNoDimension) {
  Shape scalar;
  EXPECT_EQ(scalar.count(), 1);
  EXPECT_EQ(scalar.rows(), 1);
  EXPECT_EQ(scalar.columns(), 1);
  EXPECT_EQ(scalar.text(), "()");
}

TEST(Shape, IsEqualToTheSameSizesAlone) {
  EXPECT_EQ(Shape({2, 3}), Shape({2, 3}));
  EXPECT_NE(Shape({2, 3}), Shape({3, 2}));
  EXPECT_NE(Shape({2, 3}), Shape({2, 3, 1}));
  EXPECT_NE(Shape({1}), Shape());
}

TEST(Shape, ErrorsNameTheDimensionAndTheShape) {
  Shape shape{2, 3};
  EXPECT_EQ(error_text([&] { shape[2]; }),
            "[shape] dimension 2 does not exist in (2, 3), which has 2");
  EXPECT_EQ(error_text([&] { shape.axis(-3); }),
            "[shape] dimension -3 does not exist in (2, 3), which has 2");
  EXPECT_EQ(error_text([&] { shape.set(1, -4); }), "[shape] size -4 of dimension 1 is negative");
  EXPECT_EQ(error_text([&] { Shape({2, -1}); }), "[shape] size -1 of dimension 1 is negative");
  EXPECT_EQ(error_text([&] { Shape({1, 1, 1, 1, 1, 1, 1}); }), "[shape] more than 6 dimensions");
}

TEST(Broadcast, FollowsNumPy) {
  EXPECT_EQ(broadcast("add", {2, 3}, {2, 3}), Shape({2, 3}));
  EXPECT_EQ(broadcast("add", {2, 4, 3}, {3}), Shape({2, 4, 3}));
  EXPECT_EQ(broadcast("add", {3}, {2, 4, 3}), Shape({2, 4, 3}));
  EXPECT_EQ(broadcast("add", {2, 1, 3}, {4, 1}), Shape({2, 4, 3}));
  EXPECT_EQ(broadcast("add", {}, {2, 2}), Shape({2, 2}));
  EXPECT_EQ(broadcast("add", {0, 3}, {1, 3}), Shape({0, 3}));
}

TEST(Broadcast, AMisfitNamesTheOpBothShapesAndTheDimension) {
  EXPECT_EQ(error_text([] {
              broadcast("add", {2, 4, 3}, {2, 3});
            }),
            "[add] shapes (2, 4, 3) and (2, 3) do not broadcast: 4 and 2 in dimension 1 must be "
            "equal or 1");
  EXPECT_EQ(
      error_text([] { broadcast("multiply", {2}, {0}); }),
      "[multiply] shapes (2) and (0) do not broadcast: 2 and 0 in dimension 0 must be equal or 1");
}

}  // namespace
}  // namespace lookback
