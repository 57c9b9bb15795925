#include "cli/bench.h"
#include "cli/cli.h"
#include "core/log.h"

namespace lookback::cli {
namespace {

std::string table(const TranslationOptions& options, const TranslationResult& result) {
  std::string text =
      format("{} sentences of {} tokens -> {} tokens, {} a batch; {}; medians of {}\n\n",
             options.sentences, options.source_length, options.target_length, options.batch,
             counted(result.parameters, "parameter"), counted(options.rounds, "round"));
  text += format("{:<12}{:>8}{:>12}{:>12}{:>18}\n", "search", "threads", "median, ms", "least, ms",
                 "target tokens/s");
  for (const TranslationResult::Row& row : result.rows)
    text += format("{:<12}{:>8}{:>12.1f}{:>12.1f}{:>18.0f}\n",
                   row.beam == 1 ? "greedy" : format("beam {}", row.beam), row.threads, row.ms,
                   row.least_ms, row.tokens_per_second);
  return text;
}

}  // namespace

void bench_translation(const Recipe& recipe, const TranslationOptions& options, bool json) {
  TranslationResult result = measure_translation(recipe, options);
  if (json) {
    print_json(result.json(options));
  } else {
    print(table(options, result));
  }
}

}  // namespace lookback::cli
