#include "core/random.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <vector>

#include "support/error_text.h"

namespace lookback {
namespace {

uint64_t splitmix(uint64_t x) {
  x += 0x9e3779b97f4a7c15ull;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
  return x ^ (x >> 31);
}

uint64_t unshift(uint64_t y, int bits) {
  uint64_t x = y;
  for (int i = bits; i < 64; i += bits) x = y ^ (x >> bits);
  return x;
}

uint64_t inverse_splitmix(uint64_t y) {
  y = unshift(y, 31) * 0x319642b2d24d8ec3ull;
  y = unshift(y, 27) * 0x96de1b173f119089ull;
  return unshift(y, 30) - 0x9e3779b97f4a7c15ull;
}

/// The key under which Random starts Philox at key `stream` and counter (0, 0, low and high half of
/// `place`).
RandomKey key_for(uint64_t stream, uint64_t place) {
  return {.seed = 0,
          .purpose = splitmix(0) ^ inverse_splitmix(stream),
          .step = 0,
          .index = splitmix(stream) ^ inverse_splitmix(place)};
}

std::vector<uint32_t> draw(Random random, int count) {
  std::vector<uint32_t> out;
  for (int i = 0; i < count; ++i) out.push_back(random.bits());
  return out;
}

// The first four numbers are the known answer of Random123 1.0 (kat_vectors, philox4x32-10) for key
// and counter zero; the rest come from an implementation in Python that gives all three known
// answers.
TEST(Random, IsPhilox4x32WithTenRounds) {
  EXPECT_EQ(draw(Random(key_for(0, 0)), 8),
            (std::vector<uint32_t>{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8,  //
                                   0xf8e4cca4, 0x5cb200db, 0xb1a574eb, 0x097eff67}));
  EXPECT_EQ(draw(Random(key_for(0x299f31d0a4093822ull, 0x0370734413198a2eull)), 4),
            (std::vector<uint32_t>{0xb60a410e, 0x61bd7780, 0xa53f3958, 0x3d51eb3f}));
  EXPECT_EQ(draw(Random(key_for(~0ull, ~0ull)), 4),
            (std::vector<uint32_t>{0x3d3be307, 0x716983d6, 0x70094bed, 0x36c3cf91}));
}

TEST(Random, EveryPartOfTheKeyGivesAnotherStream) {
  RandomKey key{.seed = 1, .purpose = purpose("a"), .step = 2, .index = 3};
  std::vector<RandomKey> keys(5, key);
  keys[1].seed = 2;
  keys[2].purpose = purpose("b");
  keys[3].step = 3;
  keys[4].index = 4;
  std::set<std::vector<uint32_t>> streams;
  for (const RandomKey& k : keys) streams.insert(draw(Random(k), 4));
  EXPECT_EQ(streams.size(), keys.size());
  // Neighbouring keys do not trade places: (step 1, index 0) is not (step 0, index 1).
  EXPECT_NE(mix({.step = 1}), mix({.index = 1}));
}

TEST(Random, ADrawDependsOnNoDrawBefore) {
  RandomKey key{.seed = 9, .purpose = purpose("a")}, other{.seed = 9, .purpose = purpose("b")};
  std::vector<uint32_t> alone = draw(Random(key), 20);
  Random one(other), two(key);
  std::vector<uint32_t> between;
  for (int i = 0; i < 20; ++i) {
    one.bits();
    between.push_back(two.bits());
  }
  EXPECT_EQ(alone, between);
}

TEST(Random, ManyDrawsAtOnceAreTheSameDraws) {
  for (int64_t before : {0, 1, 3, 4, 30})
    for (int64_t count : {0, 1, 4, 5, 20, 31, 32, 33, 64, 101}) {
      Random one({.seed = 5, .purpose = 2}), all({.seed = 5, .purpose = 2});
      for (int64_t i = 0; i < before; ++i) EXPECT_EQ(one.bits(), all.bits());
      std::vector<uint32_t> draws(static_cast<size_t>(count));
      all.fill(draws.data(), count);
      for (uint32_t draw : draws) ASSERT_EQ(draw, one.bits());
      ASSERT_EQ(all.bits(), one.bits()) << "the draw after " << count;
    }
}

TEST(Random, UniformFillsTheUnitIntervalEvenly) {
  Random random({.seed = 4});
  const int draws = 200000, bins = 50;
  std::vector<int> counts(bins);
  double sum = 0;
  for (int i = 0; i < draws; ++i) {
    double u = random.uniform();
    ASSERT_GE(u, 0);
    ASSERT_LT(u, 1);
    ++counts[static_cast<size_t>(u * bins)];
    sum += u;
  }
  double chi = 0, expected = double{draws} / bins;
  for (int count : counts) chi += (count - expected) * (count - expected) / expected;
  EXPECT_LT(chi, 94.6) << "chi squared of 49 degrees of freedom passes this once in 10,000";
  EXPECT_NEAR(sum / draws, 0.5, 4 * std::sqrt(1.0 / 12 / draws));
  for (int i = 0; i < 1000; ++i) {
    double u = random.uniform(-3, 5);
    ASSERT_TRUE(u >= -3 && u < 5);
  }
}

TEST(Random, BelowIsUnbiased) {
  Random random({.seed = 5});
  for (int64_t bound : {1, 2, 3, 7, 10}) {
    const int draws = 70000;
    std::vector<int> counts(static_cast<size_t>(bound));
    for (int i = 0; i < draws; ++i) {
      int64_t value = random.below(bound);
      ASSERT_TRUE(value >= 0 && value < bound);
      ++counts[static_cast<size_t>(value)];
    }
    double expected = static_cast<double>(draws) / static_cast<double>(bound);
    for (int count : counts) EXPECT_NEAR(count, expected, 5 * std::sqrt(expected) + 1e-9) << bound;
  }
  // Without drawing again, the lower half of a bound of 3/4 of the range would come up twice as
  // often.
  const int64_t bound = int64_t{3} << 61;
  int lower = 0;
  for (int i = 0; i < 20000; ++i) lower += random.below(bound) < bound / 2;
  EXPECT_NEAR(lower, 10000, 5 * std::sqrt(5000.0));
  EXPECT_EQ(testing::error_text([&] { random.below(0); }),
            "[random] below() needs a bound of at least 1, not 0");
}

TEST(Random, NormalHasTheRightMoments) {
  Random random({.seed = 6});
  const int draws = 200000;
  double sum = 0, square = 0, fourth = 0;
  int outside = 0;
  for (int i = 0; i < draws; ++i) {
    double x = random.normal();
    ASSERT_TRUE(std::isfinite(x));
    sum += x;
    square += x * x;
    fourth += x * x * x * x;
    outside += std::abs(x) > 1.959964;
  }
  EXPECT_NEAR(sum / draws, 0, 5 / std::sqrt(double{draws}));
  EXPECT_NEAR(square / draws, 1, 5 * std::sqrt(2.0 / draws));
  EXPECT_NEAR(fourth / draws, 3, 5 * std::sqrt(96.0 / draws));
  EXPECT_NEAR(outside, 0.05 * draws, 5 * std::sqrt(0.05 * 0.95 * draws));
}

TEST(Random, PurposesAreFnv1aOfTheirNames) {
  EXPECT_EQ(purpose(""), 0xcbf29ce484222325ull);
  EXPECT_EQ(purpose("a"), 0xaf63dc4c8601ec8cull);
  EXPECT_EQ(purpose("foobar"), 0x85944171f73967e8ull);
}

}  // namespace
}  // namespace lookback
