#pragma once

#include <optional>

#include "core/json.h"
#include "core/profile.h"
#include "train/recipe.h"

namespace lookback {

struct BenchOptions {
  int64_t batch = 64;
  int64_t source_length = 30;  ///< end mark included
  int64_t target_length = 30;  ///< end mark included
  int64_t steps = 20;          ///< timed, after 3 that are not
  bool profile = false;        ///< also say where their time went
  bool peak = true;            ///< also measure peak_gflops
};

/// Training steps on random data of an exact shape, timed.
struct BenchResult {
  double step_ms = 0;  ///< median
  double min_ms = 0;
  double tokens_per_second = 0;  ///< target tokens, at the median
  double gemm_gflops = 0;        ///< counted products / median step
  double peak_gflops = 0;        ///< sgemm of large matrices on as many threads, in this run
  double peak_rss_mb = 0;
  double page_faults = 0;  ///< minor faults in the median step
  int64_t parameters = 0;
  int64_t threads = 0, shards = 0;
  int64_t steps = 0;                     ///< timed
  std::optional<ProfileReport> profile;  ///< of all timed steps, where it was asked for
  Json json() const;
};

/// Forward, backward, clipping and the optimiser, as train() does them.
BenchResult bench(const Recipe& recipe, const BenchOptions& options);

/// GFLOP/s of C = A B with 1,024 x 1,024 matrices, one product a thread side by side: the best of six rounds,
/// or of those that a second allows.
double peak_gemm_gflops(int threads);

/// A profile of so many steps, in milliseconds a step.
Json profile_json(const ProfileReport& profile, int64_t steps);

}  // namespace lookback
