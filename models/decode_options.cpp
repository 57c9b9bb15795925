#include "models/decode_options.h"

#include <tuple>

#include "core/error.h"

namespace lookback {

namespace {

using namespace decode_ranges;

std::optional<DecodeProblem> out_of_range(const DecodeOptions& o) {
  const std::tuple<const char*, double, Range> all[] = {
      {"beam", static_cast<double>(o.beam), kHypotheses},
      {"n_best", static_cast<double>(o.n_best), kHypotheses},
      {"length_penalty.alpha", o.length_penalty.alpha, kAlpha},
      {"min_length", static_cast<double>(o.min_length), kMinLength},
      {"max_length", static_cast<double>(std::max<int64_t>(o.max_length, 0)),
       between(0, kMaxLength.high)},  // a program may ask for the end mark alone
      {"temperature", o.temperature, kTemperature},
      {"top_k", static_cast<double>(o.top_k), kTopK},
      {"top_p", o.top_p, kTopP}};
  for (const auto& [key, value, range] : all)
    if (!accepts(range, value))
      return DecodeProblem{key, format("must be a number {}, but is {}", text_of(range), value)};
  return std::nullopt;
}

}  // namespace

std::optional<DecodeProblem> problem_of(const DecodeOptions& o) {
  if (std::optional<DecodeProblem> problem = out_of_range(o)) return problem;
  std::vector<std::string> types = length_penalty_types();
  if (std::find(types.begin(), types.end(), o.length_penalty.type) == types.end())
    return DecodeProblem{"length_penalty.type", unknown_name("type", o.length_penalty.type, types)};
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
  section.read("beam", o.beam, kHypotheses);
  section.read("n_best", o.n_best, kHypotheses);
  Section penalty = section.section("length_penalty");
  penalty.read_choice("type", o.length_penalty.type, length_penalty_types());
  o.length_penalty.alpha = default_alpha(o.length_penalty.type);
  if (o.length_penalty.type != "none") penalty.read("alpha", o.length_penalty.alpha, kAlpha);
  section.read("min_length", o.min_length, kMinLength);
  section.read_or_auto("max_length", o.max_length, kMaxLength);
  section.read("sample", o.sample);
  section.read("temperature", o.temperature, kTemperature);
  section.read("top_k", o.top_k, kTopK);
  section.read("top_p", o.top_p, kTopP);
  section.read("seed", o.seed);
  if (std::optional<DecodeProblem> problem = problem_of(o))
    section.refuse(problem->key, problem->text);
}

}  // namespace lookback
