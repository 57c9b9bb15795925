#include "train/measure_translation.h"

#include <algorithm>

#include "core/error.h"
#include "core/threads.h"
#include "train/evaluate.h"
#include "train/measure_parts.h"

namespace lookback {

TranslationResult measure_translation(const Recipe& recipe, const TranslationOptions& options) {
  auto [model, source_words, target_words] =
      untrained_model(recipe, options.source_length, options.target_length);
  Random random({.seed = 1, .purpose = purpose("bench")});
  std::vector<std::vector<Id>> sources;
  for (int64_t i = 0; i < options.sentences; ++i)
    sources.push_back(random_words(random, options.source_length - 1, source_words));

  TranslationResult out;
  out.parameters = model->parameter_count();
  for (int64_t beam : {int64_t{1}, options.beam})
    for (int threads : options.threads) out.rows.push_back({.beam = beam, .threads = threads});
  std::vector<std::vector<double>> times(out.rows.size());
  int before = threads();
  for (int64_t round = -1; round < options.rounds; ++round)  // the first is a warm-up
    for (size_t i = 0; i < out.rows.size(); ++i) {
      DecodeOptions decode;
      decode.beam = out.rows[i].beam;
      decode.min_length = decode.max_length = options.target_length - 1;
      set_threads(out.rows[i].threads);
      double begin = now_ms();
      auto translations = translate(*model, sources, decode, options.batch);
      if (round >= 0) times[i].push_back(now_ms() - begin);
      int64_t tokens = 0;
      for (const std::vector<Decoded>& best : translations)
        tokens += static_cast<int64_t>(best.at(0).tokens.size()) + 1;
      if (tokens != options.sentences * options.target_length)
        fail("[bench] {} tokens were translated, not {} x {}", tokens, options.sentences,
             options.target_length);
      out.tokens = tokens;
    }
  set_threads(before);
  for (size_t i = 0; i < out.rows.size(); ++i) {
    TranslationResult::Row& row = out.rows[i];
    row.ms = median_of(times[i]);
    row.least_ms = *std::min_element(times[i].begin(), times[i].end());
    row.tokens_per_second = static_cast<double>(out.tokens) / row.ms * 1e3;
  }
  return out;
}

Json TranslationResult::json(const TranslationOptions& options) const {
  Json out{{"sentences", options.sentences},
           {"batch", options.batch},
           {"source_length", options.source_length},
           {"target_length", options.target_length},
           {"rounds", options.rounds},
           {"tokens", tokens},
           {"parameters", parameters},
           {"rows", Json::array()}};
  for (const Row& row : rows)
    out["rows"].push_back({{"beam", row.beam},
                           {"threads", row.threads},
                           {"ms", row.ms},
                           {"least_ms", row.least_ms},
                           {"tokens_per_second", row.tokens_per_second}});
  return out;
}

}  // namespace lookback
