#include "nn/positions.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "support/error_text.h"

namespace lookback {
namespace {

/// What is added at (B, S, D).
Tensor added(const Positions& positions, const Lengths& lengths, int64_t columns, int64_t width,
             const Pass& pass = {}) {
  Tensor zero = Tensor::zeros({static_cast<int64_t>(lengths.size()), columns, width});
  return positions(zero, lengths, pass).value();
}

TEST(Positions, SinusoidsFollowTheirFormulaAlsoInOddWidthsAndFarOut) {
  for (int64_t width : {1, 6, 7}) {
    Positions positions({.kind = "sinusoidal", .width = width});
    Tensor y = added(positions, {9000}, 9000, width);
    for (int64_t p : {0, 1, 2, 30, 511, 512, 599, 1023, 1024, 8999})
      for (int64_t d = 0; d < width; ++d) {
        int64_t pair = d / 2;
        double angle =
            static_cast<double>(p) *
            std::exp(-std::log(1e4) * 2 * static_cast<double>(pair) / static_cast<double>(width));
        EXPECT_NEAR(y.at({0, p, d}), d % 2 ? std::cos(angle) : std::sin(angle), 1e-6)
            << p << " " << d;
      }
  }
}

TEST(Positions, OneTokenGetsWhatItGetsAmongAll) {
  for (const char* kind : {"sinusoidal", "learned", "none"}) {
    Positions positions({.kind = kind, .width = 6, .max_positions = 700});
    positions.initialize(1);
    Tensor all = added(positions, {600, 2}, 600, 6);
    for (int64_t p : {0, 7, 511, 512, 599}) {
      Tensor one = positions.at(Tensor::zeros({2, 1, 6}), p).value();
      for (int64_t b = 0; b < 2; ++b)
        for (int64_t d = 0; d < 6; ++d) EXPECT_EQ(one.at({b, 0, d}), all.at({0, p, d})) << kind;
    }
  }
}

/// By how much each sentence of a batch moved, read off the table.
std::vector<int64_t> offsets(const Positions& positions, const Lengths& lengths, const Pass& pass) {
  Tensor moved = added(positions, lengths, 4, 3, pass);
  std::vector<int64_t> out;
  for (int64_t b = 0; b < static_cast<int64_t>(lengths.size()); ++b) {
    int64_t offset = 0;
    auto stands_at = [&](int64_t p) {
      Tensor row = positions.at(Tensor::zeros({1, 1, 3}), p).value();
      for (int64_t d = 0; d < 3; ++d)
        if (row.at({0, 0, d}) != moved.at({b, 0, d})) return false;
      return true;
    };
    while (!stands_at(offset)) ++offset;
    out.push_back(offset);
  }
  return out;
}

TEST(Positions, BothSidesOfASentenceMoveByOneOffset) {
  Positions::Options options{.width = 3, .random_offset = 9};
  Positions source(options), target(options);
  std::set<int64_t> seen;
  for (uint64_t step = 0; step < 40; ++step) {
    Pass pass{.training = true, .key = {.seed = 1, .step = step, .index = 8}};
    std::vector<int64_t> of_source = offsets(source, {4, 1, 2}, pass);
    EXPECT_EQ(of_source, offsets(target, {2, 3, 4}, pass));
    seen.insert(of_source.begin(), of_source.end());
    // The third sentence alone, and one that a shard got in another order.
    pass.key.index = 10;
    EXPECT_EQ(offsets(source, {2}, pass)[0], of_source[2]);
    pass.sentences = {10, 8};
    EXPECT_EQ(offsets(source, {2, 4}, pass), (std::vector<int64_t>{of_source[2], of_source[0]}));
  }
  EXPECT_EQ(seen.size(), 10u);
  EXPECT_EQ(*seen.rbegin(), 9);
  EXPECT_EQ(offsets(source, {4, 1, 2}, {}), (std::vector<int64_t>{0, 0, 0}));
}

TEST(Positions, AnOffsetLeavesASentenceInsideALearnedTable) {
  Positions positions({.kind = "learned", .width = 3, .max_positions = 6, .random_offset = 50});
  positions.initialize(1);
  std::set<int64_t> of_four, of_two;
  for (uint64_t step = 0; step < 200; ++step) {
    std::vector<int64_t> drawn =
        offsets(positions, {4, 2}, {.training = true, .key = {.step = step}});
    of_four.insert(drawn[0]);
    of_two.insert(drawn[1]);
  }
  EXPECT_EQ(*of_four.rbegin(), 2);
  EXPECT_EQ(*of_two.rbegin(), 4);
}

TEST(Positions, PastTheTableIsAnErrorWithSentenceLengthAndLimit) {
  Positions positions({.kind = "learned", .width = 3, .max_positions = 32});
  EXPECT_EQ(
      testing::error_text([&] {
        added(positions, {1, 2, 3, 40}, 40, 3);
      }),
      "[positions] sentence 3 has 40 tokens, but the learned table ends at 32 (max_positions)");
  // Columns of padding past the table are nobody's.
  EXPECT_EQ(added(positions, {1, 32}, 40, 3).shape(), Shape({2, 40, 3}));
  EXPECT_EQ(testing::error_text([] { Positions({.kind = "spiral", .width = 3}); }),
            "[positions] there is no kind \"spiral\"; it must be sinusoidal, learned or none");
}

}  // namespace
}  // namespace lookback
