#include "train/task.h"

#include "core/error.h"

namespace lookback {

std::vector<int64_t> possible_lengths(const Task& task) {
  std::vector<int64_t> lengths;
  for (int64_t length = task.min_length(); length <= task.max_length(); ++length)
    if (task.has_length(length)) lengths.push_back(length);
  return lengths;
}

Example draw(const Task& task, Split split, uint64_t held_out_seed, int64_t length,
             Random& random) {
  constexpr int64_t kMost = 1 << 20;
  for (int64_t i = 0; i < kMost; ++i) {
    Example example = task.sample(length, random);
    if (split_of(held_out_seed, example.source) == split) return example;
  }
  fail("[draw] {}: no {} source of length {} in {} draws", task.description(), split_name(split),
       length, kMost);
}

std::vector<int64_t> lengths_with(const Task& task, Split split, uint64_t held_out_seed) {
  constexpr int kDraws = 1024;
  std::vector<int64_t> lengths;
  for (int64_t length : possible_lengths(task)) {
    Random random({held_out_seed, purpose("task.lengths"), static_cast<uint64_t>(length), 0});
    for (int i = 0; i < kDraws; ++i) {
      if (split_of(held_out_seed, task.sample(length, random).source) != split) continue;
      lengths.push_back(length);
      break;
    }
  }
  if (lengths.empty())
    fail_user(
        "data.task: {}: too few different sources, none falls into the {} split; "
        "give more symbols, a greater max_length, or another data.held_out.seed",
        task.description(), split_name(split));
  return lengths;
}

}  // namespace lookback
