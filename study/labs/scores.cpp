#include <algorithm>
#include <cmath>

#include "core/config.h"
#include "nn/bahdanau.h"
#include "nn/luong.h"
#include "study/labs/built_in.h"
#include "study/labs/samples.h"

namespace lookback {
namespace {

constexpr int64_t kBatch = 4, kQueries = 5, kKeys = 9;
constexpr Attention::Sizes kSizes = {.query = 6, .values = 10};

struct Drawn {
  Variable queries, values;
};

Drawn draw(const Attention::Sizes& sizes, uint64_t seed) {
  return {Variable(normals({kBatch, kQueries, sizes.query}, seed, "queries"), true),
          Variable(normals({kBatch, kKeys, sizes.values}, seed, "values"), true)};
}

Mask all_keys() {
  return Mask::from_lengths(Lengths(kBatch, kKeys), kKeys);
}

/// Additive attention, and concat under W_a = [W_s W_h].
void compare_concat(const LabOptions& options, ScoresMeasured& out) {
  constexpr int64_t kUnits = 7;
  BahdanauAttention additive({.units = kUnits}, kSizes);
  ConcatAttention concatenated({.units = kUnits}, kSizes);
  draw_parameters(additive, options.seed);
  std::vector<Variable> parts{parameter_of(additive, "query.weight").detach(),
                              parameter_of(additive, "key.weight").detach()};
  parameter_of(concatenated, "joint.weight").leaf_value().copy_from(concat(parts, 1).value());
  parameter_of(concatenated, "v").leaf_value().copy_from(parameter_of(additive, "v").value());

  Drawn drawn = draw(kSizes, options.seed);
  Tensor seed = normals({kBatch, kQueries, kSizes.values}, options.seed, "arriving");
  Attended a = additive.attend_all(drawn.queries, additive.prepare(drawn.values, all_keys()));
  Attended b =
      concatenated.attend_all(drawn.queries, concatenated.prepare(drawn.values, all_keys()));
  out.concat_weights = largest_difference(a.weights.value(), b.weights.value());
  out.concat_context = largest_difference(a.context.value(), b.context.value());
  Gradients of_a = backward(a.context, seed), of_b = backward(b.context, seed);
  out.concat_gradient = larger(largest_difference(of_a.of(drawn.queries), of_b.of(drawn.queries)),
                               largest_difference(of_a.of(drawn.values), of_b.of(drawn.values)));
}

std::string refusal(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

void try_sizes_that_differ(const LabOptions& options, ScoresMeasured& out) {
  out.layer_refusal = refusal([] { LuongAttention(LuongAttention::Score::kDot, kSizes); });
  out.config_refusal = refusal([] {
    Config source = Config::from_text("score: dot", "lab"), resolved;
    Section section(source, resolved);
    read_luong(section, kSizes);
  });
  LuongAttention general(LuongAttention::Score::kGeneral, kSizes);
  draw_parameters(general, options.seed);
  Drawn drawn = draw(kSizes, options.seed);
  Variable context =
      general.attend_all(drawn.queries, general.prepare(drawn.values, all_keys())).context;
  out.general_fits = context.shape() == Shape{kBatch, kQueries, kSizes.values};
  out.general_finite = all_finite(context.value());
}

/// By how much scores grow; value 0 is zeros, so that the weights tell the scores.
std::pair<double, double> growth(const LuongAttention& dot, const Drawn& before,
                                 const Drawn& after) {
  auto scores = [&](const Drawn& drawn) {
    return scores_behind(
        dot.attend_all(drawn.queries, dot.prepare(drawn.values, all_keys())).weights.value());
  };
  std::vector<double> a = scores(before), b = scores(after);
  double low = INFINITY, high = -INFINITY;
  for (size_t i = 0; i < a.size(); ++i)
    if (!(std::abs(a[i]) <= 0.1)) {  // of a score near 0 the factor is rounding alone
      low = smaller(low, b[i] / a[i]);
      high = larger(high, b[i] / a[i]);
    }
  return {low, high};
}

void double_one_side(const LabOptions& options, ScoresMeasured& out) {
  constexpr Attention::Sizes kEqual = {.query = 8, .values = 8};
  LuongAttention dot(LuongAttention::Score::kDot, kEqual);
  Drawn drawn = draw(kEqual, options.seed);
  Tensor values = drawn.values.value().clone();
  for (int64_t b = 0; b < kBatch; ++b)
    values.rows(b, 1).reshape({kKeys, kEqual.values}).rows(0, 1).fill(0);
  drawn.values = values;
  std::tie(out.query_factor_low, out.query_factor_high) =
      growth(dot, drawn, {scale(drawn.queries, 2), drawn.values});
  std::tie(out.key_factor_low, out.key_factor_high) =
      growth(dot, drawn, {drawn.queries, scale(drawn.values, 2)});
}

}  // namespace

ScoresMeasured measure_scores(const LabOptions& options) {
  ScoresMeasured out;
  compare_concat(options, out);
  try_sizes_that_differ(options, out);
  double_one_side(options, out);
  return out;
}

LabReport judge(const ScoresMeasured& m) {
  Judge judge;
  judge.at_most("concat, W_a = [W_s W_h]: weights off additive", 1e-6, m.concat_weights);
  judge.at_most("concat, W_a = [W_s W_h]: contexts off additive", 1e-6, m.concat_context);
  judge.at_most("concat, W_a = [W_s W_h]: gradients off additive", 1e-5, m.concat_gradient);
  judge.check("dot, d_s = 6, d_h = 10", "refused, naming both",
              m.layer_refusal.empty() ? "accepted" : m.layer_refusal,
              m.layer_refusal.find("not 6 and 10") != std::string::npos);
  bool said = m.config_refusal.find("6") != std::string::npos &&
              m.config_refusal.find("10") != std::string::npos &&
              m.config_refusal.find("general") != std::string::npos;
  judge.check("dot in a config, same sizes", "refused, naming a way out",
              m.config_refusal.empty() ? "accepted"
              : said                   ? "refused: names 6, 10 and general"
                                       : m.config_refusal,
              said);
  judge.check("general, d_s = 6, d_h = 10", "accepted",
              m.general_fits && m.general_finite ? "accepted" : "no context of that shape",
              m.general_fits && m.general_finite);
  auto doubled = [&](const std::string& side, double low, double high) {
    judge.check("dot, " + side + " doubled: scores grow by", "2 ± 0.001",
                format("{:.5f} to {:.5f}", low, high),
                std::abs(low - 2) <= 1e-3 && std::abs(high - 2) <= 1e-3);
  };
  doubled("query", m.query_factor_low, m.query_factor_high);
  doubled("keys", m.key_factor_low, m.key_factor_high);
  judge.numbers() = {{"concat_weights", m.concat_weights},
                     {"concat_context", m.concat_context},
                     {"concat_gradient", m.concat_gradient},
                     {"dot_refusal", m.layer_refusal},
                     {"dot_config_refusal", m.config_refusal},
                     {"query_factor", {m.query_factor_low, m.query_factor_high}},
                     {"key_factor", {m.key_factor_low, m.key_factor_high}}};
  return std::move(judge).report();
}

}  // namespace lookback
