#include "models/decode.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/error.h"
#include "models/decode_rows.h"

namespace lookback {

Id most_probable(const Real* logits, int64_t words) {
  Id best = kUnknown;
  for (Id id = kEnd; id < words; ++id)
    if (logits[id] > logits[best]) best = id;
  return best;
}

std::vector<std::vector<Decoded>> decode(const EncoderDecoder& model,
                                         std::span<const std::vector<Id>> sources,
                                         const DecodeOptions& options,
                                         std::span<const uint64_t> numbers) {
  if (std::optional<DecodeProblem> problem = problem_of(options))
    fail("[decode] {} {}", problem->key, problem->text);
  if (!numbers.empty() && numbers.size() != sources.size())
    fail("[decode] {} numbers for {} sentences", numbers.size(), sources.size());
  int64_t most = model.max_target_positions();
  if (most >= 0 && options.min_length >= most)
    fail_user("min_length is {}, but the model's learned positions end at {}, end mark included",
              options.min_length, most);
  if (sources.empty()) return {};
  NoGrad no_history;
  std::vector<Tensor> weights;
  for (const Module::Named& parameter : model.parameters())
    weights.push_back(parameter.variable.value());
  KeptLayouts once(std::move(weights));
  if (!options.sample) return beam_search(model, sources, options);
  std::vector<uint64_t> counted(sources.size());
  std::iota(counted.begin(), counted.end(), uint64_t{0});
  return sample(model, sources, options, numbers.empty() ? counted : numbers);
}

DecodeRows::DecodeRows(const EncoderDecoder& model, std::span<const std::vector<Id>> sources,
                       int64_t copies)
    : model_(model) {
  Batch batch = make_source_batch(sources);
  lengths_ = batch.source_lengths;
  all_ = memory_ = model.encode(batch.source, batch.source_lengths);
  state_ = model.start(memory_);
  std::vector<int64_t> rows;
  for (int64_t i = 0; i < batch.size() * copies; ++i) rows.push_back(i / copies);
  sentence_.resize(sources.size());
  std::iota(sentence_.begin(), sentence_.end(), int64_t{0});
  keep(rows, rows);
}

Step DecodeRows::step(std::span<const Id> previous) {
  Step step = model_.step(previous, state_, memory_);
  state_ = step.state;
  return step;
}

void DecodeRows::keep(const std::vector<int64_t>& parents, std::vector<int64_t> sentences) {
  bool moved = parents.size() != sentence_.size();
  for (size_t i = 0; i < parents.size() && !moved; ++i)
    moved = parents[i] != static_cast<int64_t>(i);
  if (moved) state_ = state_.take(parents);
  if (sentences != sentence_) {
    if (model_.shares_memory())
      memory_.sentence_of = sentences;
    else
      memory_ = all_.take(sentences);
  }
  sentence_ = std::move(sentences);
}

int64_t DecodeRows::limit(int64_t sentence, const DecodeOptions& options) const {
  int64_t tokens = options.limit(positions(sentence) - 1), most = model_.max_target_positions();
  return most < 0 ? tokens : std::min(tokens, most - 1);  // the end mark has a position too
}

Decoded finish(Hypothesis&& hypothesis, double log_probability, const Real* logits, int64_t words,
               const AllowedWords& allowed, const DecodeOptions& options, const Step& step) {
  Decoded out{.tokens = std::move(hypothesis.tokens),
              .log_probability = log_probability,
              .score = 0,
              .ended = !allowed.only_end() || most_probable(logits, words) == kEnd,
              .weights = std::move(hypothesis.weights)};
  out.score =
      options.length_penalty.score(log_probability, static_cast<int64_t>(out.tokens.size()) + 1);
  if (!out.weights.empty()) {
    out.layers = step.weights.size(1);
    out.heads = step.weights.size(2);
  }
  return out;
}

void add_weights(const Step& step, int64_t row, int64_t positions, const DecodeOptions& options,
                 Hypothesis& hypothesis) {
  if (!options.weights || !step.weights.defined()) return;
  int64_t rows = step.weights.size(1) * step.weights.size(2), width = step.weights.size(3);
  std::vector<Real>& out = hypothesis.weights.emplace_back();
  const Real* from = step.weights.value().data() + row * rows * width;
  for (int64_t i = 0; i < rows; ++i)
    out.insert(out.end(), from + i * width, from + i * width + positions);
}

void rank(std::vector<Decoded>& found, int64_t n_best) {
  std::stable_sort(found.begin(), found.end(), [](const Decoded& a, const Decoded& b) {
    return a.score > b.score || (std::isnan(b.score) && !std::isnan(a.score));
  });
  if (static_cast<int64_t>(found.size()) > n_best) found.resize(static_cast<size_t>(n_best));
}

}  // namespace lookback
