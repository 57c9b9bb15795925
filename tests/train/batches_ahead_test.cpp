#include "train/batches_ahead.h"

#include <gtest/gtest.h>

#include "core/error.h"
#include "core/threads.h"
#include "tiny_recipe.h"
#include "train/step.h"

namespace lookback {
namespace {

/// Examples that tell which were asked for; none from step 7 on.
class Counting final : public Dataset {
 public:
  std::vector<Example> training_examples(int64_t step) override {
    ++calls;
    if (step >= 7) fail_user("step {} has no data", step);
    return {Example{{static_cast<Id>(step + kMarks)}, {kMarks}}};
  }
  const Vocabulary& source_vocabulary() const override { fail("none"); }
  const Vocabulary& target_vocabulary() const override { fail("none"); }
  int64_t steps_in_epochs(int64_t) override { fail("none"); }
  const std::vector<Example>& held_out(Split) override { fail("none"); }
  void refuse_longer(Split, const PositionLimits&) override {}
  std::string description() const override { return "counting"; }
  int calls = 0;
};

/// Steps of the data that the batches hold.
std::vector<int64_t> steps(const std::vector<Batch>& batches) {
  std::vector<int64_t> out;
  for (const Batch& batch : batches) out.push_back(batch.source.at(0, 0) - kMarks);
  return out;
}

TEST(BatchesAhead, gives_every_step_its_own) {
  Counting data;
  BatchesAhead batches(data, 2);
  EXPECT_EQ(steps(batches.take(0)), (std::vector<int64_t>{0, 1}));
  batches.make(1);
  EXPECT_EQ(data.calls, 4);
  EXPECT_EQ(steps(batches.take(1)), (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(data.calls, 4);
  // Once taken they are gone, and what was made for another step is not given.
  EXPECT_EQ(steps(batches.take(1)), (std::vector<int64_t>{2, 3}));
  batches.make(2);
  EXPECT_EQ(steps(batches.take(0)), (std::vector<int64_t>{0, 1}));
  EXPECT_EQ(steps(batches.take(2)), (std::vector<int64_t>{4, 5}));
}

TEST(BatchesAhead, an_error_comes_up_where_the_batches_are_taken) {
  Counting data;
  BatchesAhead batches(data, 1);
  batches.make(7);
  EXPECT_EQ(steps(batches.take(6)), (std::vector<int64_t>{6}));
  batches.make(7);
  try {
    batches.take(7);
    FAIL() << "no error";
  } catch (const UserError& error) {
    EXPECT_STREQ(error.what(), "step 7 has no data");
  }
  batches.make(8);
  batches.make(5);  // the error is of 8
  EXPECT_EQ(steps(batches.take(5)), (std::vector<int64_t>{5}));
}

TEST(BatchesAhead, a_step_does_once_what_is_to_be_done_beside_its_shards) {
  Recipe recipe = tiny_recipe();
  std::unique_ptr<EncoderDecoder> model = recipe.model(12, 12);
  model->initialize(1);
  std::vector<Example> examples(3, Example{{5, 6, 7}, {7, 6, 5}});
  int before = threads();
  for (int count : {1, 2, 4})
    for (int64_t shards : {1, 2, 3}) {
      set_threads(count);
      int done = 0;
      forward_backward(*model, model->parameters(), {make_batch(examples)}, {},
                       {.shards = shards, .meanwhile = [&] { ++done; }});
      EXPECT_EQ(done, count > 1 && shards > 1 ? 1 : 0)
          << count << " threads, " << shards << " shards";
    }
  set_threads(before);
}

}  // namespace
}  // namespace lookback
