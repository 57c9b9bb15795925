// Scaled dot-product attention, forward and backward, both ways in one run and in turn, with the most
// memory that each holds; and the small size of a copy task's Transformer. Run: ./dev bench, or
// build/bench_attention [threads].

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <vector>

#include "autograd/ops.h"
#include "core/allocator.h"
#include "core/error.h"
#include "core/random.h"
#include "core/threads.h"

namespace lookback {
namespace {

struct Sizes {
  int64_t batch, heads, length, size;
  bool causal;
  int turns;
};

Variable drawn(const Shape& shape, uint64_t seed) {
  Tensor out(shape);
  Random random({.seed = seed, .purpose = purpose("bench")});
  for (Real& value : out.values()) value = static_cast<Real>(random.uniform(-1, 1));
  return Variable(out, true);
}

struct Measured {
  double milliseconds;
  double peak_mib;  ///< above what stood before
};

Measured once(const Sizes& s, const Variable& x, AttentionWay way) {
  DotProductOptions options{.mask = s.causal ? Mask::causal() : Mask(), .way = way};
  int64_t width = s.heads * s.size;
  uint64_t before = memory_counts().in_use_bytes;
  reset_memory_peak();
  auto begin = std::chrono::steady_clock::now();
  Variable context =
      dot_product_attention(heads(x, s.heads, s.size), heads(x, s.heads, s.size, width),
                            heads(x, s.heads, s.size, 2 * width), options)
          .context;
  Gradients g = backward(context, context.value());
  std::chrono::duration<double, std::milli> time = std::chrono::steady_clock::now() - begin;
  return {time.count(),
          static_cast<double>(memory_counts().peak_bytes - before) / (1024.0 * 1024.0)};
}

double median(std::vector<double> all) {
  std::nth_element(all.begin(), all.begin() + static_cast<int64_t>(all.size() / 2), all.end());
  return all[all.size() / 2];
}

void compare(const Sizes& s) {
  Variable x = drawn({s.batch, s.length, 3 * s.heads * s.size}, 1);
  constexpr AttentionWay kWays[] = {AttentionWay::kMaterialised, AttentionWay::kBlockwise};
  std::vector<double> times[2];
  double peak[2] = {};
  for (int turn = -1; turn < s.turns; ++turn)  // the first is not counted
    for (int way = 0; way < 2; ++way) {
      Measured got = once(s, x, kWays[way]);
      peak[way] = got.peak_mib;
      if (turn >= 0) times[way].push_back(got.milliseconds);
    }
  double kept = median(times[0]), blocks = median(times[1]);
  fmt::print(
      "B {:>3}  H {}  T = S {:>5}  K {:>3}  {:<6}  held {:>9.3f} ms {:>8.1f} MiB   blockwise "
      "{:>9.3f} ms {:>8.1f} MiB   blockwise/held {:.3f} time, {:.4f} memory\n",
      s.batch, s.heads, s.length, s.size, s.causal ? "causal" : "", kept, peak[0], blocks, peak[1],
      blocks / kept, peak[1] / peak[0]);
}

}  // namespace
}  // namespace lookback

int main(int argc, char** argv) {
  using namespace lookback;
  std::vector<int> teams{1, available_cores()};
  if (argc > 1) {
    const int team = argc == 2 ? std::atoi(argv[1]) : 0;
    if (team < 1) {
      fmt::print(stderr, "Usage: bench_attention [THREADS]   (default: one, then all)\n");
      return 2;
    }
    teams = {team};
  }
  for (int team : teams) {
    set_threads(team);
    fmt::print("threads {}\n", threads());
    for (bool causal : {false, true}) {
      compare({64, 4, 20, 16, causal, 200});
      compare({16, 4, 128, 64, causal, 20});
      compare({4, 4, 256, 64, causal, 20});
      compare({2, 4, 512, 64, causal, 20});
      compare({1, 4, 1024, 64, causal, 15});
      compare({1, 4, 2048, 64, causal, 9});
      compare({1, 4, 8192, 64, causal, 1});
    }
  }
}
