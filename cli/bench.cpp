#include <algorithm>

#include "cli/cli.h"
#include "cli/profile.h"
#include "core/log.h"
#include "train/measure.h"

namespace lookback::cli {
namespace {

std::string table(const BenchOptions& options, const BenchResult& r) {
  std::string text;
  auto row = [&](const char* name, const std::string& value) {
    text += format("{:<22}{}\n", name, value);
  };
  row("batch", format("B={} S={} T={}, {} timed", options.batch, options.source_length,
                      options.target_length, counted(options.steps, "step")));
  row("model", counted(r.parameters, "parameter"));
  row("threads, shards", format("{}, {}", r.threads, r.shards));
  row("step", format("{:.2f} ms median, {:.2f} ms least", r.step_ms, r.min_ms));
  row("target tokens", format("{:.0f} a second", r.tokens_per_second));
  row("matrix products", format("{:.1f} GFLOP/s of a peak of {:.1f}: {:.0f}%", r.gemm_gflops,
                                r.peak_gflops, 100 * r.gemm_gflops / r.peak_gflops));
  row("peak resident memory", format("{:.0f} MB", r.peak_rss_mb));
  row("page faults", format("{:.0f} in the median step", r.page_faults));
  if (r.profile)
    text += format("\nWhere a step's time went, mean of {}; of threads side by side the mean:\n{}",
                   counted(r.steps, "step"), profile_table(*r.profile, r.steps));
  return text;
}

}  // namespace

int bench(const Words& words) {
  std::string path;
  std::vector<std::string> settings;
  BenchOptions options;
  bool json = false;
  Arguments arguments(
      "bench",
      "Times whole training steps of a configuration's model (forward, backward, clipping, optimiser)\n"
      "on random data of an exact shape, after 3 steps that do not count.",
      "  lookback bench configs/bench/gru_bahdanau.yaml --batch 64 --source-length 30 "
      "--target-length 30 --steps 30");
  arguments.needed("CONFIG", path, "A configuration; its vocabulary is used, its data is not");
  arguments.texts("--set", "KEY=VALUE", settings,
                  "Set a key of the configuration; may be repeated");
  int64_t batch = 0;
  arguments.whole("--batch", batch, between(1, 1e6),
                  format("Sentences (default: the configuration's, or {} where it counts tokens)",
                         options.batch));
  arguments.whole("--source-length", options.source_length, between(1, 1e5),
                  format("Source tokens, end mark included (default {})", options.source_length));
  arguments.whole("--target-length", options.target_length, between(1, 1e5),
                  format("Target tokens, end mark included (default {})", options.target_length));
  arguments.whole("--steps", options.steps, between(1, 1e6),
                  format("Timed steps (default {})", options.steps));
  arguments.flag("--profile", options.profile,
                 "Also say where a step's time went: each op forward and backward, the matrix\n"
                 "products in it, and what is done around the ops");
  arguments.flag("--json", json, "Print one JSON object");
  arguments.threads();
  if (!arguments.parse(words)) return 0;

  Config config = Config::from_file(path);
  for (const std::string& setting : settings) config.set(setting);
  // As the configuration's own batch size, it also decides the shards where they are `auto`.
  if (batch) config.set(format("train.batch={{size: {}}}", batch));
  if (int64_t threads = arguments.given_threads()) config.set(format("train.threads={}", threads));
  Recipe recipe = read_recipe(config);
  if (recipe.train.batch.unit == "sentences") options.batch = recipe.train.batch.size;

  // More would not fit any memory, and asking for it could take the machine down.
  constexpr int64_t kMostTokens = 10'000'000;
  int64_t longest = std::max(options.source_length, options.target_length);
  if (options.batch > kMostTokens / longest)
    fail_user("bench: {} sentences of {} tokens are more than {} tokens in all", options.batch,
              longest, kMostTokens);

  BenchResult result = lookback::bench(recipe, options);
  if (json) {
    print_json(result.json());
  } else {
    print(table(options, result));
  }
  return 0;
}

}  // namespace lookback::cli
