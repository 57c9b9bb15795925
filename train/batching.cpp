#include "train/batching.h"

#include <algorithm>
#include <numeric>
#include <tuple>
#include <utility>

#include "core/error.h"
#include "core/random.h"

namespace lookback {
namespace {

constexpr int64_t kBatchesInPool = 64;

template <class T>
void shuffle(std::vector<T>& items, const RandomKey& key) {
  Random random(key);
  for (size_t i = items.size(); i > 1; --i)
    std::swap(items[i - 1], items[static_cast<size_t>(random.below(static_cast<int64_t>(i)))]);
}

/// About how many examples 64 batches hold.
int64_t pool_size(std::span<const Example> examples, const BatchOptions& options) {
  if (options.unit == "sentences") return kBatchesInPool * options.size;
  int64_t tokens = 0;
  for (const Example& example : examples) tokens += static_cast<int64_t>(example.target.size()) + 1;
  double mean = static_cast<double>(tokens) / static_cast<double>(examples.size());
  return kBatchesInPool * std::max<int64_t>(1, static_cast<int64_t>(options.size / mean));
}

/// Cuts indices [begin, end) of `order` into batches.
void cut(std::span<const Example> examples, std::span<const int64_t> order,
         const BatchOptions& options, bool same_length, std::vector<BatchIndices>& out) {
  BatchFill fill(options);
  for (size_t i = 0; i < order.size(); ++i) {
    const Example& example = examples[order[i]];
    bool other_length =
        same_length && i > 0 && example.source.size() != examples[order[i - 1]].source.size();
    if (other_length) fill.clear();
    bool fits = fill.take(example);
    if (!fits) {
      fill.clear();
      fill.take(example);
    }
    if (i == 0 || other_length || !fits) out.emplace_back();
    out.back().push_back(order[i]);
  }
}

/// By the longer side first: on translations this pads less than sorting by source or target
/// length. For batches of one source length that length leads.
void sort_by_length(std::span<const Example> examples, std::span<int64_t> order, bool same_length) {
  auto key = [&](int64_t i) {
    size_t source = examples[i].source.size(), target = examples[i].target.size();
    return std::tuple(same_length ? source : std::max(source, target), source, target);
  };
  std::stable_sort(order.begin(), order.end(),
                   [&](int64_t a, int64_t b) { return key(a) < key(b); });
}

std::vector<int64_t> all_of_them(std::span<const Example> examples) {
  std::vector<int64_t> order(examples.size());
  std::iota(order.begin(), order.end(), 0);
  return order;
}

}  // namespace

void read(Section& section, BatchOptions& options) {
  section.read("size", options.size, between(1, 1e6));
  section.read_choice("unit", options.unit, {"sentences", "tokens"});
}

bool BatchFill::take(const Example& example) {
  int64_t longest = std::max(longest_, static_cast<int64_t>(example.target.size()) + 1);
  bool fits = tokens_ ? (count_ + 1) * longest <= size_ : count_ < size_;
  if (!fits && count_ > 0) return false;
  ++count_;
  longest_ = longest;
  return true;
}

std::vector<BatchIndices> plan_epoch(std::span<const Example> examples, const BatchOptions& options,
                                     Grouping grouping, uint64_t seed, int64_t epoch) {
  std::vector<int64_t> order = all_of_them(examples);
  std::vector<BatchIndices> batches;
  if (order.empty()) return batches;
  uint64_t step = static_cast<uint64_t>(epoch);
  shuffle(order, {seed, purpose("epoch.examples"), step, 0});
  // Sorting whole pools keeps batches tight; pools far smaller than the epoch keep them different
  // from one epoch to the next.
  size_t pool = grouping == Grouping::kNearLength
                    ? static_cast<size_t>(pool_size(examples, options))
                    : order.size();
  for (size_t begin = 0; begin < order.size(); begin += pool) {
    std::span<int64_t> part(order.data() + begin, std::min(pool, order.size() - begin));
    bool same_length = grouping == Grouping::kSameLength;
    if (grouping != Grouping::kMixed) sort_by_length(examples, part, same_length);
    cut(examples, part, options, same_length, batches);
  }
  shuffle(batches, {seed, purpose("epoch.batches"), step, 0});
  return batches;
}

std::vector<BatchIndices> batches_by_length(std::span<const Example> examples,
                                            const BatchOptions& options) {
  std::vector<int64_t> order = all_of_them(examples);
  sort_by_length(examples, order, false);
  std::vector<BatchIndices> batches;
  cut(examples, order, options, false, batches);
  return batches;
}

EpochBatches::EpochBatches(std::span<const Example> examples, const BatchOptions& options,
                           Grouping grouping, uint64_t seed)
    : examples_(examples), options_(options), grouping_(grouping), seed_(seed) {
  if (examples.empty()) fail("[batches] no examples to make batches of");
}

const std::vector<BatchIndices>& EpochBatches::plan(int64_t epoch) {
  if (planned_ != epoch) {
    plan_ = plan_epoch(examples_, options_, grouping_, seed_, epoch);
    planned_ = epoch;
  }
  return plan_;
}

int64_t EpochBatches::steps_in_epochs(int64_t epochs) {
  if (epochs < 0) fail("[batches] {} epochs; at least 0 are needed", epochs);
  while (static_cast<int64_t>(starts_.size()) <= epochs) {
    // By sentences every epoch is cut alike; by tokens the number of batches changes a little.
    bool alike = options_.unit == "sentences" && starts_.size() > 1;
    int64_t epoch = static_cast<int64_t>(starts_.size()) - 1;
    int64_t steps = alike ? starts_[1] : static_cast<int64_t>(plan(epoch).size());
    starts_.push_back(starts_.back() + steps);
  }
  return starts_[static_cast<size_t>(epochs)];
}

const BatchIndices& EpochBatches::batch(int64_t step) {
  if (step < 0) fail("[batches] step {}; steps count from 0", step);
  while (starts_.back() <= step) steps_in_epochs(static_cast<int64_t>(starts_.size()));
  auto after = std::upper_bound(starts_.begin(), starts_.end(), step);
  int64_t epoch = after - starts_.begin() - 1;
  return plan(epoch)[static_cast<size_t>(step - starts_[static_cast<size_t>(epoch)])];
}

}  // namespace lookback
