#include "models/decode_options.h"

#include "core/error.h"

namespace lookback {

std::optional<DecodeProblem> problem_of(const DecodeOptions& o) {
  if (o.sample && o.beam > 1)
    return DecodeProblem{"beam", format("is {}, but with sample: true words are drawn, not "
                                        "searched; n_best is the number of samples",
                                        o.beam)};
  if (!o.sample && o.n_best > o.beam)
    return DecodeProblem{"n_best", format("is {}, but a beam of {} finds at most {}; give beam: {}",
                                          o.n_best, o.beam, o.beam, o.n_best)};
  if (o.max_length >= 0 && o.min_length > o.max_length)
    return DecodeProblem{"min_length", format("is {}, but max_length is {}; at most that",
                                              o.min_length, o.max_length)};
  return std::nullopt;
}

void read(Section& section, DecodeOptions& o) {
  section.read("beam", o.beam, between(1, 1e4));
  section.read("n_best", o.n_best, between(1, 1e4));
  Section penalty = section.section("length_penalty");
  penalty.read_choice("type", o.length_penalty.type, length_penalty_types());
  o.length_penalty.alpha = default_alpha(o.length_penalty.type);
  if (o.length_penalty.type != "none")
    penalty.read("alpha", o.length_penalty.alpha, between(0, 100));
  section.read("min_length", o.min_length, between(0, 1e5));
  section.read_or_auto("max_length", o.max_length, between(1, 1e5));
  section.read("sample", o.sample);
  section.read("temperature", o.temperature, Range{.low = 0, .high = 1e6, .above_low = true});
  section.read("top_k", o.top_k, between(0, 1e9));
  section.read("top_p", o.top_p, Range{.low = 0, .high = 1, .above_low = true});
  section.read("seed", o.seed);
  if (std::optional<DecodeProblem> problem = problem_of(o))
    section.refuse(problem->key, problem->text);
}

}  // namespace lookback
