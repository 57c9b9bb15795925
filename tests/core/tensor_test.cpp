#include "core/tensor.h"

#include <gtest/gtest.h>

#include "support/error_text.h"

namespace lookback {
namespace {

using testing::error_text;

TEST(Tensor, ADefaultOneIsUndefined) {
  EXPECT_FALSE(Tensor().defined());
  EXPECT_TRUE(Tensor::scalar(3).defined());
}

TEST(Tensor, HoldsElementsInRowMajorOrder) {
  Tensor t = Tensor::from({2, 3}, {1, 2, 3, 4, 5, 6});
  EXPECT_EQ(t.at({0, 2}), 3);
  EXPECT_EQ(t.at({1, 0}), 4);
  EXPECT_EQ(t.count(), 6);
  EXPECT_EQ(Tensor::scalar(7).item(), 7);
  for (Real value : Tensor::full({5}, 2).values()) EXPECT_EQ(value, 2);
  for (Real value : Tensor::zeros({70}).values()) EXPECT_EQ(value, 0);
}

TEST(Tensor, CopiesShareTheBufferAndClonesDoNot) {
  Tensor t = Tensor::from({2}, {1, 2});
  EXPECT_TRUE(t.unique());
  Tensor copy = t, clone = t.clone();
  EXPECT_FALSE(t.unique());
  EXPECT_TRUE(copy.shares_buffer(t));
  EXPECT_FALSE(clone.shares_buffer(t));
  copy.data()[0] = 9;
  EXPECT_EQ(t.at({0}), 9);
  EXPECT_EQ(clone.at({0}), 1);
}

TEST(Tensor, ViewsShareTheBuffer) {
  Tensor t = Tensor::from({3, 2}, {1, 2, 3, 4, 5, 6});
  Tensor flat = t.reshape({6}), middle = t.rows(1, 1), tail = middle.rows(0, 1);
  EXPECT_EQ(flat.at({4}), 5);
  EXPECT_EQ(middle.shape(), Shape({1, 2}));
  EXPECT_EQ(tail.at({0, 1}), 4);
  middle.fill(0);
  EXPECT_EQ(t.at({1, 0}), 0);
  EXPECT_EQ(t.at({2, 0}), 5);
  EXPECT_EQ(middle.clone().count(), 2);
  EXPECT_EQ(t.rows(3, 0).count(), 0);
  Tensor other = Tensor::zeros({1, 2});
  other.copy_from(t.rows(2, 1));
  EXPECT_EQ(other.at({0, 1}), 6);
}

TEST(Tensor, AViewKeepsTheBufferAlive) {
  Tensor view;
  {
    Tensor t = Tensor::from({2, 2}, {1, 2, 3, 4});
    view = t.rows(1, 1);
  }
  Tensor other = Tensor::full({2, 2}, 8);  // would take the block if it were free
  EXPECT_EQ(view.at({0, 0}), 3);
  EXPECT_TRUE(view.unique());
  EXPECT_FALSE(view.shares_buffer(other));
}

TEST(Tensor, ErrorsNameTheShapes) {
  Tensor t = Tensor::zeros({2, 3});
  EXPECT_EQ(error_text([&] { t.item(); }), "[item] shape (2, 3) has 6 elements, not one");
  EXPECT_EQ(error_text([&] { t.at({1}); }), "[at] 1 indices for shape (2, 3)");
  EXPECT_EQ(error_text([&] { t.at({1, 3}); }), "[at] index 3 is outside dimension 1 of (2, 3)");
  EXPECT_EQ(error_text([&] { t.reshape({4}); }), "[reshape] (2, 3) has 6 elements, (4) has 4");
  EXPECT_EQ(error_text([&] { t.rows(1, 2); }), "[rows] rows 1 to 3 are outside (2, 3)");
  EXPECT_EQ(error_text([&] {
              t.copy_from(Tensor::zeros({3, 2}));
            }),
            "[copy] shape (3, 2) cannot be copied into (2, 3)");
  EXPECT_EQ(error_text([&] {
              Tensor::from({2}, {1, 2, 3});
            }),
            "[tensor] 3 values do not fill shape (2), which has 2");
}

TEST(Tensor, AShapeWithTooManyElementsIsRefused) {
  int64_t huge = int64_t{1} << 31;
  EXPECT_EQ(error_text([&] {
              Tensor({huge, huge});
            }),
            "[tensor] shape (2147483648, 2147483648) has too many elements");
  EXPECT_EQ(Tensor({huge, huge, 0}).count(), 0);
}

}  // namespace
}  // namespace lookback
