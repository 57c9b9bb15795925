#include "study/explain.h"

#include <algorithm>
#include <cmath>

#include "autograd/ops.h"
#include "models/decode.h"
#include "study/labs/samples.h"
#include "study/labs/small_models.h"
#include "study/labs/trained.h"

namespace lookback {
namespace {

/// What the model says, one token at a time, of many sources.
std::vector<std::vector<Id>> said(const EncoderDecoder& model,
                                  const std::vector<std::vector<Id>>& sources) {
  std::vector<std::vector<Id>> out;
  for (auto& decoded : translate(model, sources, {})) out.push_back(decoded.at(0).tokens);
  return out;
}

/// Replaces tokens: at the cause, and at each other letter.
void replace_tokens(const EncoderDecoder& model, const Task& task,
                    const std::vector<Example>& examples, uint64_t seed, ExplainMeasured& out) {
  std::vector<std::vector<Id>> whole, changed;
  std::vector<size_t> of;
  std::vector<bool> at_cause;
  int64_t symbols = task.target_vocabulary().size() - kMarks;
  for (size_t i = 0; i < examples.size(); ++i) {
    const std::vector<Id>& source = examples[i].source;
    whole.push_back(source);
    int64_t cause = task.causes(examples[i])->at(0);
    Random random({.seed = seed, .purpose = purpose("lab.explain"), .step = 0, .index = i});
    for (size_t j = 0; j + 1 < source.size(); ++j) {  // the number at the end stays
      std::vector<Id> other = source;
      Id drawn = kMarks + static_cast<Id>(random.below(symbols - 1));
      other[j] = drawn >= source[j] ? drawn + 1 : drawn;
      changed.push_back(std::move(other));
      of.push_back(i);
      at_cause.push_back(static_cast<int64_t>(j) == cause);
    }
  }
  std::vector<std::vector<Id>> before = said(model, whole), after = said(model, changed);
  double causes = 0, moved = 0, others = 0, kept = 0;
  for (size_t i = 0; i < changed.size(); ++i) {
    bool same = after[i] == before[of[i]];
    (at_cause[i] ? causes : others) += 1;
    if (at_cause[i])
      moved += !same;
    else
      kept += same;
  }
  out.cause_changes = moved / causes;
  out.others_keep = kept / others;
}

Agreement& operator+=(Agreement& a, const Agreement& b) {
  a.rank += std::isnan(b.rank) ? 0 : b.rank;
  a.top += b.top;
  return a;
}

/// Weights beside effects, of the one output token.
void compare(const EncoderDecoder& model, const EncoderDecoder& other, const Task& task,
             const std::vector<Example>& examples, ExplainMeasured& out) {
  double n = static_cast<double>(examples.size());
  auto at = [](const std::vector<double>& row) { return static_cast<int64_t>(largest(row)); };
  for (const Example& example : examples) {
    Explanation e = explain(model, example.source, &example.target);
    Explanation second = explain(other, example.source, &example.target);
    int64_t cause = task.causes(example)->at(0);
    int64_t top = at(e.mean_weights[0]);
    out.weight_on_cause += (top == cause) / n;
    out.weight_beside += (std::abs(top - cause) == 1) / n;
    out.ablation_on_cause += (std::abs(at(e.ablation[0]) - cause) <= 1) / n;
    out.gradient_on_cause += (at(e.gradient[0]) == cause) / n;
    out.product_on_cause += (at(magnitudes(e.product)[0]) == cause) / n;
    Grid weights = without_end(e.mean_weights);
    out.ablation += agreement(weights, without_end(e.ablation));
    out.gradient += agreement(weights, without_end(e.gradient));
    out.product += agreement(weights, without_end(magnitudes(e.product)));
    out.seeds += agreement(weights, without_end(second.mean_weights));
  }
  for (Agreement* a : {&out.ablation, &out.gradient, &out.product, &out.seeds}) {
    a->rank /= n;
    a->top /= n;
  }
  out.sentences = static_cast<int64_t>(examples.size());
}

/// Four keys, of which the query meets the first; its value is zeros.
void construct(uint64_t seed, ExplainMeasured& out) {
  constexpr int64_t keys = 4, units = 8;
  Tensor query = Tensor::zeros({1, 1, units}), key = Tensor::zeros({1, keys, units});
  query.data()[0] = 6;
  for (int64_t j = 0; j < keys; ++j) key.data()[j * units] = j == 0 ? 4 : Real(2 - j);
  Tensor value = normals({1, keys, units}, seed, "values");
  std::fill_n(value.data(), units, Real{0});
  auto attend = [&](const Tensor& values, Variable* leaf) {
    Variable v(values, leaf != nullptr);
    if (leaf) *leaf = v;
    return dot_product_attention(heads(Variable(query), 1, units), heads(Variable(key), 1, units),
                                 heads(v, 1, units), {.weights = true});
  };
  Variable leaf;
  Attended whole = attend(value, &leaf);
  out.hidden_weight = whole.weights.value().data()[0];
  auto change = [&](int64_t position) {
    Tensor without = value.clone();
    std::fill_n(without.data() + position * units, units, Real{0});
    return largest_difference(whole.context.value(), attend(without, nullptr).context.value()) /
           largest_size(whole.context.value());
  };
  out.hidden_change = change(0);
  out.other_change = change(1);
  Tensor towards = normals(whole.context.shape(), seed, "towards");
  Tensor gradient = backward(whole.context, towards).of(leaf);
  double most = 0;
  for (int64_t j = 0; j < keys; ++j) {
    double product = 0;
    for (int64_t i = 0; i < units; ++i)
      product += double{gradient.data()[j * units + i]} * value.data()[j * units + i];
    if (j == 0)
      out.hidden_product = std::abs(product);
    else
      most = std::max(most, std::abs(product));
  }
  out.hidden_product /= most;
}

}  // namespace

ExplainMeasured measure_explain(const LabOptions& options) {
  SmallTask task{"{type: copy_token, symbols: 20, max_length: 10}", 1000};
  SmallModel model{.name = "GRU, Luong dot",
                   .model = recurrent("gru", "{type: luong, score: dot, query: current}"),
                   .rate = 6e-3,
                   .steps = options.full ? 5000 : 3500,
                   .seed = options.seed};
  SmallModel other = model;
  other.seed = options.seed + 1;
  std::vector<TrainResult> trained = train_all(task, {model, other}, options);
  ExplainMeasured out;
  const std::vector<Example>& held_out = trained[0].data->held_out(Split::kTest);
  out.right = evaluate(*trained[0].model, held_out).all.sequence_accuracy;
  Recipe recipe = small_recipe(task, model);
  const Task& made = *std::get<TaskDataOptions>(recipe.data).task;
  std::vector<Example> examples;  // lengths spread evenly, as they stand
  size_t every = options.full ? 2 : 5;
  for (size_t i = 0; i < held_out.size(); i += every)
    if (held_out[i].source.size() > 2) examples.push_back(held_out[i]);
  replace_tokens(*trained[0].model, made, examples, options.seed, out);
  give_up_if_stopped(options);
  compare(*trained[0].model, *trained[1].model, made, examples, out);
  construct(options.seed, out);
  if (!options.full)
    out.left_out = "more steps, and half of the held-out sentences instead of a fifth";
  return out;
}

LabReport judge(const ExplainMeasured& m) {
  Judge judge;
  auto percent = [](double share) { return format("{:.1f}%", 100 * share); };
  auto numbers = [](const Agreement& a) { return Json{{"rank", a.rank}, {"same_place", a.top}}; };
  judge.numbers() = {{"sentences", m.sentences},
                     {"sequence_accuracy", m.right},
                     {"replaced_cause_changes_output", m.cause_changes},
                     {"replaced_other_keeps_output", m.others_keep},
                     {"largest_weight_on_cause", m.weight_on_cause},
                     {"largest_weight_beside_cause", m.weight_beside},
                     {"ablation", numbers(m.ablation)},
                     {"gradient", numbers(m.gradient)},
                     {"input_x_gradient", numbers(m.product)},
                     {"other_seed", numbers(m.seeds)},
                     {"constructed",
                      {{"weight", m.hidden_weight},
                       {"value_x_gradient", m.hidden_product},
                       {"change", m.hidden_change},
                       {"change_of_another", m.other_change}}}};
  judge.at_least("copy token k: share right", 0.98, m.right);
  judge.check("known cause: another token at k", "the output changes",
              percent(m.cause_changes) + " of the time", m.cause_changes >= 0.98);
  judge.check("another token elsewhere", "it stays", percent(m.others_keep) + " of the time",
              m.others_keep >= 0.97);
  judge.check("the largest weight is on k", "often, not always",
              format("{} ({} beside it)", percent(m.weight_on_cause), percent(m.weight_beside)),
              m.weight_on_cause + m.weight_beside >= 0.9 && m.weight_on_cause < 1);
  judge.check("ablation: hiding k, or beside it, moves most", "90% or more",
              percent(m.ablation_on_cause), m.ablation_on_cause >= 0.9);
  judge.check("gradient is largest at k", "90% or more", percent(m.gradient_on_cause),
              m.gradient_on_cause >= 0.9);
  judge.check("input x gradient is largest at k", "more than half", percent(m.product_on_cause),
              m.product_on_cause > 0.5);
  judge.check("another seed looks at the same place", "80% or more", percent(m.seeds.top),
              m.seeds.top >= 0.8);
  judge.check(
      "rank correlation with ablation; gradient", "above 0, below 1",
      format("{:.2f}; {:.2f}", m.ablation.rank, m.gradient.rank),
      m.ablation.rank > 0 && m.ablation.rank < 1 && m.gradient.rank > 0 && m.gradient.rank < 1);
  judge.at_least("constructed: weight of a key whose value is 0", 0.9, m.hidden_weight);
  judge.at_most("  output changes without that value by", 1e-6, m.hidden_change);
  judge.at_least("  without a value of small weight by", 0.01, m.other_change);
  judge.at_most("  its value x gradient, over the largest", 1e-6, m.hidden_product);
  return std::move(judge).report(m.left_out);
}

}  // namespace lookback
