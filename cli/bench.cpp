#include <algorithm>

#include "cli/bench.h"
#include "cli/cli.h"
#include "cli/profile.h"
#include "core/error.h"
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

constexpr int64_t kScalingSteps = 5;

/// The command line; 0 and "" stand for what is not given.
struct Asked {
  std::string path, report;
  std::vector<std::string> settings;
  int64_t batch = 0, source_length = 0, target_length = 0, steps = 0;
  int64_t sentences = 0, beam = 0, rounds = 0;
  bool profile = false, translate = false, scaling = false, json = false;

  void declare(Arguments& a) {
    const BenchOptions step;
    const TranslationOptions translation;
    a.needed("CONFIG", path, "A configuration; its vocabulary is used, its data is not");
    a.texts("--set", "KEY=VALUE", settings, "Set a key of the configuration; may be repeated");
    a.whole(
        "--batch", batch, between(1, 1e6),
        format("Sentences (default: the configuration's, or {} where it counts tokens; {} with\n"
               "--translate)",
               step.batch, translation.batch));
    a.whole("--source-length", source_length, between(1, 1e5),
            format("Source tokens, end mark included (default {}; {} with --translate)",
                   step.source_length, translation.source_length));
    a.whole("--target-length", target_length, between(1, 1e5),
            format("Target tokens, end mark included (default {}; {} with --translate)",
                   step.target_length, translation.target_length));
    a.whole("--steps", steps, between(1, 1e6),
            format("Timed steps (default {}; {} of each size with --scaling)", step.steps,
                   kScalingSteps));
    a.flag("--profile", profile,
           "Also say where a step's time went: each op forward and backward, the matrix\n"
           "products in it, and what is done around the ops");
    a.flag("--translate", translate,
           "Time translating instead: greedy and by beam search, with the model's start\n"
           "weights, to exactly the target length, on one thread and on all");
    a.whole("--sentences", sentences, between(1, 1e6),
            format("Sentences to translate (default {})", translation.sentences));
    a.whole(
        "--beam", beam, between(2, decode_ranges::kHypotheses.high),
        format("Hypotheses that the beam search keeps, at least 2 (default {})", translation.beam));
    a.whole("--rounds", rounds, between(1, 1e4),
            format("Timed translations of all sentences (default {})", translation.rounds));
    a.flag("--scaling", scaling,
           "Time steps of 1/4, 1/2, 1, 2 and 4 times each size instead, one at a time: batch,\n"
           "source, target, units, words; and on each number of threads; with the exponents\n"
           "of growth, measured and by theory");
    a.text("--report", "FILE.html", report, "Write what --scaling found as a page, too");
    a.flag("--json", json, "Print one JSON object");
    a.threads();
  }

  /// What belongs to one way of measuring is refused in another, not passed over.
  void check() const {
    auto only = [](bool given, const char* option, bool there, const char* place) {
      if (given && !there) fail_user("bench: {} {}", option, place);
    };
    only(translate, "--translate", !scaling, "and --scaling measure different things; give one");
    only(profile, "--profile", !translate, "is of training steps, not of --translate");
    only(profile, "--profile", !scaling, "is of one size, not of --scaling");
    only(!report.empty(), "--report", scaling, "is of --scaling; give that too");
    only(steps > 0, "--steps", !translate, "counts training steps; --translate has --rounds");
    for (auto [given, option] :
         {std::pair(sentences, "--sentences"), {beam, "--beam"}, {rounds, "--rounds"}})
      only(given > 0, option, translate, "belongs to --translate; give that too");
  }
};

/// More tokens would not fit any memory, and asking for them could take the machine down.
void refuse_too_many(int64_t sentences, int64_t source_length, int64_t target_length) {
  constexpr int64_t kMostTokens = 10'000'000;
  int64_t longest = std::max(source_length, target_length);
  if (sentences > kMostTokens / longest)
    fail_user("bench: {} sentences of {} tokens are more than {} tokens in all", sentences, longest,
              kMostTokens);
}

int64_t or_default(int64_t given, int64_t otherwise) {
  return given > 0 ? given : otherwise;
}

TranslationOptions translation_options(const Asked& asked, const Recipe& recipe) {
  TranslationOptions o;
  o.sentences = or_default(asked.sentences, o.sentences);
  o.batch = or_default(asked.batch, o.batch);
  o.source_length = or_default(asked.source_length, o.source_length);
  o.target_length = or_default(asked.target_length, o.target_length);
  o.beam = or_default(asked.beam, o.beam);
  o.rounds = or_default(asked.rounds, o.rounds);
  o.threads = {1};
  if (int threads = recipe.train.thread_count(); threads > 1) o.threads.push_back(threads);
  refuse_too_many(o.sentences, o.source_length, o.target_length);
  refuse_too_many(std::min(o.batch, o.sentences) * o.beam, o.source_length, o.target_length);
  return o;
}

BenchOptions step_options(const Asked& asked, const Recipe& recipe) {
  BenchOptions o;
  if (recipe.train.batch.unit == "sentences") o.batch = recipe.train.batch.size;
  o.source_length = or_default(asked.source_length, o.source_length);
  o.target_length = or_default(asked.target_length, o.target_length);
  o.steps = or_default(asked.steps, o.steps);
  o.profile = asked.profile;
  refuse_too_many(o.batch, o.source_length, o.target_length);
  return o;
}

}  // namespace

int bench(const Words& words) {
  Asked asked;
  Arguments arguments(
      "bench",
      "Times whole training steps of a configuration's model (forward, backward, clipping, optimiser)\n"
      "on random data of an exact shape, after 3 steps that do not count; or, with --translate,\n"
      "translating; or, with --scaling, how a step's time grows with its sizes.",
      "  lookback bench configs/bench/gru_bahdanau.yaml --batch 64 --source-length 30 "
      "--target-length 30 --steps 30\n"
      "  lookback bench configs/bench/transformer_d256.yaml --translate --beam 6\n"
      "  lookback bench configs/bench/gru_bahdanau.yaml --scaling --report scaling.html");
  asked.declare(arguments);
  if (!arguments.parse(words)) return 0;
  asked.check();

  Config config = Config::from_file(asked.path);
  for (const std::string& setting : asked.settings) config.set(setting);
  // As the configuration's own batch size, it also decides the shards where they are `auto`.
  if (asked.batch) config.set(format("train.batch={{size: {}}}", asked.batch));
  if (int64_t threads = arguments.given_threads()) config.set(format("train.threads={}", threads));
  Recipe recipe = read_recipe(config);
  if (asked.translate) {
    bench_translation(recipe, translation_options(asked, recipe), asked.json);
    return 0;
  }
  BenchOptions options = step_options(asked, recipe);
  if (asked.scaling) {
    options.steps = or_default(asked.steps, kScalingSteps);
    // One size at a time grows to four times its own.
    refuse_too_many(4 * options.batch, options.source_length, options.target_length);
    std::string command = program() + " bench";
    for (const std::string& word : words) command += " " + quoted(word);
    bench_scaling(config, options, asked.report, command, asked.json);
    return 0;
  }
  BenchResult result = lookback::bench(recipe, options);
  if (asked.json) {
    print_json(result.json());
  } else {
    print(table(options, result));
  }
  return 0;
}

}  // namespace lookback::cli
