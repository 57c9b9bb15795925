#include "models/batch.h"

#include <gtest/gtest.h>

#include "core/error.h"

namespace lookback {
namespace {

constexpr Id a = 4, b = 5, c = 6, x = 7, y = 8;

std::vector<Example> three() {
  return {{{x, y, x}, {a, b}}, {{y}, {c}}, {{x, y}, {a, b, c, a}}};
}

TEST(Batch, TargetsAreTheDecoderInputsShiftedByOne) {
  std::vector<Example> examples = {{{x, y}, {a, b}}};
  Batch batch = make_batch(examples);
  EXPECT_EQ(batch.source.values, (std::vector<Id>{x, y, kEnd}));
  EXPECT_EQ(batch.decoder_input.values, (std::vector<Id>{kBegin, a, b}));
  EXPECT_EQ(batch.target.values, (std::vector<Id>{a, b, kEnd}));
  EXPECT_EQ(batch.source_lengths, (Lengths{3}));
  EXPECT_EQ(batch.target_lengths, (Lengths{3}));
}

TEST(Batch, ShortSentencesArePaddedPastTheirEnd) {
  Batch batch = make_batch(three());
  EXPECT_EQ(batch.size(), 3);
  EXPECT_EQ(batch.source.columns, 4);
  EXPECT_EQ(batch.source.values, (std::vector<Id>{x, y, x, kEnd,        //
                                                  y, kEnd, kPad, kPad,  //
                                                  x, y, kEnd, kPad}));
  EXPECT_EQ(batch.decoder_input.columns, 5);
  EXPECT_EQ(batch.decoder_input.values, (std::vector<Id>{kBegin, a, b, kPad, kPad,     //
                                                         kBegin, c, kPad, kPad, kPad,  //
                                                         kBegin, a, b, c, a}));
  EXPECT_EQ(batch.target.values, (std::vector<Id>{a, b, kEnd, kPad, kPad,     //
                                                  c, kEnd, kPad, kPad, kPad,  //
                                                  a, b, c, a, kEnd}));
  EXPECT_EQ(batch.source_lengths, (Lengths{4, 2, 3}));
  EXPECT_EQ(batch.target_lengths, (Lengths{3, 2, 5}));
  EXPECT_EQ(batch.target_tokens(), 10);
}

TEST(Batch, AnEmptySentenceIsItsEndMark) {
  std::vector<Example> examples = {{{}, {}}, {{x}, {a}}};
  Batch batch = make_batch(examples);
  EXPECT_EQ(batch.source.values, (std::vector<Id>{kEnd, kPad, x, kEnd}));
  EXPECT_EQ(batch.decoder_input.values, (std::vector<Id>{kBegin, kPad, kBegin, a}));
  EXPECT_EQ(batch.target.values, (std::vector<Id>{kEnd, kPad, a, kEnd}));
}

TEST(Batch, SourceBatchHasTheSameSourceAndNoTarget) {
  std::vector<std::vector<Id>> sources;
  for (const Example& example : three()) sources.push_back(example.source);
  Batch whole = make_batch(three()), batch = make_source_batch(sources);
  EXPECT_EQ(batch.source.values, whole.source.values);
  EXPECT_EQ(batch.source_lengths, whole.source_lengths);
  EXPECT_EQ(batch.target.rows, 0);
  EXPECT_EQ(batch.target_tokens(), 0);
}

void expect_equal(const Batch& one, const Batch& other) {
  EXPECT_EQ(one.source.rows, other.source.rows);
  EXPECT_EQ(one.source.columns, other.source.columns);
  EXPECT_EQ(one.source.values, other.source.values);
  EXPECT_EQ(one.source_lengths, other.source_lengths);
  EXPECT_EQ(one.decoder_input.rows, other.decoder_input.rows);
  EXPECT_EQ(one.decoder_input.columns, other.decoder_input.columns);
  EXPECT_EQ(one.decoder_input.values, other.decoder_input.values);
  EXPECT_EQ(one.target.rows, other.target.rows);
  EXPECT_EQ(one.target.columns, other.target.columns);
  EXPECT_EQ(one.target.values, other.target.values);
  EXPECT_EQ(one.target_lengths, other.target_lengths);
}

TEST(Batch, SelectedRowsAreABatchOfTheirSentencesAlone) {
  std::vector<Example> all = three();
  Batch batch = make_batch(all);
  for (const std::vector<int64_t>& rows :
       std::vector<std::vector<int64_t>>{{0}, {1}, {2}, {1, 0}, {2, 1}, {0, 1, 2}, {2, 0, 1}}) {
    std::vector<Example> chosen;
    for (int64_t row : rows) chosen.push_back(all[row]);
    expect_equal(select(batch, rows), make_batch(chosen));
  }
}

TEST(Batch, SelectWorksWithoutATargetSide) {
  std::vector<std::vector<Id>> sources = {{x, y, x}, {y}};
  std::vector<int64_t> rows = {1};
  Batch batch = select(make_source_batch(sources), rows);
  EXPECT_EQ(batch.source.values, (std::vector<Id>{y, kEnd}));
  EXPECT_EQ(batch.target.rows, 0);
}

TEST(Batch, RefusesNothingAndRowsThatAreNotThere) {
  Batch batch = make_batch(three());
  EXPECT_THROW(make_batch({}), Error);
  EXPECT_THROW(make_source_batch({}), Error);
  EXPECT_THROW(select(batch, {}), Error);
  for (int64_t row : {-1, 3}) {
    std::vector<int64_t> rows = {row};
    EXPECT_THROW(select(batch, rows), Error) << row;
  }
}

}  // namespace
}  // namespace lookback
