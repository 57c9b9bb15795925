#include "train/measure.h"

#include <sys/resource.h>

#include <algorithm>
#include <array>

#include "core/gemm.h"
#include "core/threads.h"
#include "train/measure_parts.h"
#include "train/step.h"

namespace lookback {
namespace {

/// Sentences of random words, each of exactly the lengths asked for.
Batch random_batch(const BenchOptions& options, int64_t source_words, int64_t target_words) {
  Random random({.seed = 1, .purpose = purpose("bench")});
  std::vector<Example> examples;
  for (int64_t b = 0; b < options.batch; ++b) {
    std::vector<Id> source = random_words(random, options.source_length - 1, source_words);
    examples.push_back(
        {std::move(source), random_words(random, options.target_length - 1, target_words)});
  }
  return make_batch(examples);
}

struct Usage {
  double peak_mb, faults;
};

Usage usage() {
  rusage u{};
  getrusage(RUSAGE_SELF, &u);
  return {static_cast<double>(u.ru_maxrss) / 1024, static_cast<double>(u.ru_minflt)};
}

}  // namespace

double peak_gemm_gflops(int threads) {
  constexpr int64_t kSize = 1024;
  constexpr int kRounds = 6;         // the first of which warms up
  constexpr double kLongest = 1000;  // ms
  const double flops = 2.0 * kSize * kSize * kSize;
  std::vector<Tensor> a, b, c;
  for (int t = 0; t < threads; ++t) {
    for (std::vector<Tensor>* of : {&a, &b, &c})
      of->push_back(Tensor::full({kSize, kSize}, Real{0.5}));
  }
  double best = 0;
  const double start = now_ms();
  for (int round = 0; round < kRounds && now_ms() - start < kLongest; ++round) {
    double begin = now_ms();
    parallel_tasks(threads, [&](int64_t t) {
      size_t i = static_cast<size_t>(t);
      gemm(matrix(a[i].data(), kSize, kSize), matrix(b[i].data(), kSize, kSize),
           mutable_matrix(c[i].data(), kSize, kSize));
    });
    best = std::max(best, flops * threads / (now_ms() - begin) / 1e6);
  }
  return best;
}

BenchResult bench(const Recipe& recipe, const BenchOptions& options) {
  const TrainOptions& train = recipe.train;
  set_threads(train.thread_count());
  auto [model, source_words, target_words] =
      untrained_model(recipe, options.source_length, options.target_length);
  std::vector<Module::Named> parameters = model->parameters();
  std::unique_ptr<Optimizer> optimizer = train.optimizer.make(parameters);
  Batch batch = random_batch(options, source_words, target_words);

  BenchResult out;
  Products products = train.products();
  std::vector<double> times, faults;
  uint64_t flops = 0;
  std::optional<Profile> profile;
  constexpr int64_t kWarmUp = 3;
  for (int64_t i = 0; i < kWarmUp + options.steps; ++i) {
    if (i == kWarmUp) {
      flops = gemm_flops();
      if (options.profile) profile.emplace();
    }
    double faults_before = usage().faults, begin = now_ms();
    Pass pass{.training = true, .key = {.seed = recipe.seed, .step = static_cast<uint64_t>(i)}};
    StepResult step = forward_backward(
        *model, parameters, {batch}, pass,
        {.shards = train.shards, .label_smoothing = train.label_smoothing, .products = products});
    {
      ProfileScope timed(Phase::kAround, "optimiser");
      optimizer->step(step.gradients, train.optimizer.rate,
                      clip_factor(step.gradients.norm, train.clip_norm));
    }
    if (i < kWarmUp) continue;
    times.push_back(now_ms() - begin);
    faults.push_back(usage().faults - faults_before);
  }
  if (profile) out.profile = profile->report();
  out.steps = options.steps;
  out.step_ms = median_of(times);
  out.min_ms = *std::min_element(times.begin(), times.end());
  out.tokens_per_second = static_cast<double>(batch.target_tokens()) / out.step_ms * 1e3;
  out.gemm_gflops = static_cast<double>(gemm_flops() - flops) / static_cast<double>(options.steps) /
                    out.step_ms / 1e6;
  out.page_faults = median_of(faults);
  out.peak_rss_mb = usage().peak_mb;
  out.parameters = model->parameter_count();
  out.threads = threads();
  out.shards = std::min(train.shards, options.batch);
  ProductsScope scope(products);
  if (options.peak) out.peak_gflops = peak_gemm_gflops(threads());
  return out;
}

Json BenchResult::json() const {
  Json out{{"step_ms", step_ms},
           {"min_ms", min_ms},
           {"tokens_per_second", tokens_per_second},
           {"gemm_gflops", gemm_gflops},
           {"peak_gflops", peak_gflops},
           {"gemm_rate", gemm_gflops / peak_gflops},
           {"peak_rss_mb", peak_rss_mb},
           {"page_faults", page_faults},
           {"parameters", parameters},
           {"onednn", onednn_version()},
           {"threads", threads},
           {"shards", shards}};
  if (profile) out["profile"] = profile_json(*profile, steps);
  return out;
}

Json profile_json(const ProfileReport& profile, int64_t steps) {
  constexpr std::array kPhases = {"forward", "backward", "around"};
  auto ms = [&](double seconds) { return seconds * 1e3 / static_cast<double>(steps); };
  Json out{{"steps", steps},
           {"step_ms", ms(profile.seconds)},
           {"unattributed_ms", ms(profile.unattributed)}};
  out["rows"] = Json::array();
  for (const ProfileRow& row : profile.rows) {
    Json line{{"phase", kPhases.at(static_cast<size_t>(row.phase))},
              {"name", row.name},
              {"calls", static_cast<double>(row.calls) / static_cast<double>(steps)},
              {"ms", ms(row.seconds())},
              {"elsewhere_ms", ms(row.elsewhere)},
              {"products_ms", ms(row.products)}};
    if (row.products > 0) line["products_gflops"] = row.flops / row.products / 1e9;
    out["rows"].push_back(std::move(line));
  }
  return out;
}

}  // namespace lookback
