#include "nn/embedding.h"

#include <gtest/gtest.h>

#include "autograd/ops.h"
#include "support/random_tensor.h"

namespace lookback {
namespace {

TEST(Embedding, ByWordGivesTheSameVectorsAndGradients) {
  IdMatrix ids(2, 6, 0);
  ids.values = {4, 1, 1, 4, 0, 1, 4, 4, 1, 0, 1, 4};
  for (bool scaled : {false, true}) {
    Embedding embedding({.words = 5, .size = 9, .scaled = scaled});
    embedding.initialize(1);
    Variable plain = embedding(ids), by_word = embedding.by_word(ids);
    EXPECT_EQ(plain.gathered(), nullptr);
    ASSERT_NE(by_word.gathered(), nullptr) << scaled;
    EXPECT_EQ(by_word.gathered()->table.shape(), (Shape{3, 9}));
    Tensor seed = testing::random_tensor(plain.shape(), 2);
    Tensor of_plain = backward(plain, seed).of(embedding.weight());
    Tensor of_word = backward(by_word, seed).of(embedding.weight());
    for (int64_t i = 0; i < plain.count(); ++i)
      ASSERT_EQ(plain.value().data()[i], by_word.value().data()[i]);
    for (int64_t i = 0; i < of_plain.count(); ++i)
      ASSERT_NEAR(of_plain.data()[i], of_word.data()[i], 1e-5);
  }
}

}  // namespace
}  // namespace lookback
