#include <algorithm>
#include <cmath>

#include "core/kernels/softmax.h"
#include "models/decode_rows.h"

namespace lookback {
namespace {

struct Choice {
  double weight;  ///< e^((logit - largest) / temperature)
  Id id;
};

/// The words to draw from, the likeliest first where some are cut off, with their weights.
std::vector<Choice> choices(const Real* logits, int64_t words, const AllowedWords& allowed,
                            const DecodeOptions& o) {
  std::vector<Choice> out;
  double largest = -std::numeric_limits<double>::infinity();
  for (Id id = 0; id < words; ++id)
    if (allowed(id)) largest = std::max(largest, double{logits[id]});
  for (Id id = 0; id < words; ++id)
    if (allowed(id)) {
      double weight = std::exp((double{logits[id]} - largest) / o.temperature);
      out.push_back({weight > 0 ? weight : 0, id});  // NaN is not drawn
    }
  auto likelier = [](const Choice& a, const Choice& b) {
    return a.weight != b.weight ? a.weight > b.weight : a.id < b.id;
  };
  int64_t most = static_cast<int64_t>(out.size());
  if (o.top_k > 0 && o.top_k < most) {
    std::partial_sort(out.begin(), out.begin() + o.top_k, out.end(), likelier);
    out.resize(static_cast<size_t>(o.top_k));
  }
  if (o.top_p < 1) {
    double total = 0, held = 0;
    for (const Choice& c : out) total += c.weight;
    auto less_likely = [&](const Choice& a, const Choice& b) { return likelier(b, a); };
    std::vector<Choice> kept;
    std::make_heap(out.begin(), out.end(), less_likely);
    do {
      std::pop_heap(out.begin(), out.end(), less_likely);
      kept.push_back(out.back());
      out.pop_back();
      held += kept.back().weight;
    } while (!out.empty() && held < o.top_p * total);
    out = std::move(kept);
  }
  return out;
}

Id draw(const std::vector<Choice>& from, double uniform) {
  double total = 0;
  for (const Choice& c : from) total += c.weight;
  double rest = uniform * total;
  for (const Choice& c : from)
    if ((rest -= c.weight) < 0) return c.id;
  // Rounding, or nothing but NaN: the last that has any weight.
  for (size_t i = from.size(); i-- > 0;)
    if (from[i].weight > 0) return from[i].id;
  return kEnd;
}

}  // namespace

std::vector<std::vector<Decoded>> sample(const EncoderDecoder& model,
                                         std::span<const std::vector<Id>> sources,
                                         const DecodeOptions& options,
                                         std::span<const uint64_t> numbers) {
  struct Row {
    int64_t sentence, number;
    Hypothesis hypothesis{};
  };
  DecodeRows rows(model, sources, options.n_best);
  std::vector<Row> open;
  for (int64_t i = 0; i < rows.count(); ++i)
    open.push_back({i / options.n_best, i % options.n_best});
  std::vector<std::vector<Decoded>> out(sources.size());
  for (auto& one : out) one.resize(static_cast<size_t>(options.n_best));
  std::vector<Id> previous(open.size(), kBegin);
  for (uint64_t t = 0; !open.empty(); ++t) {
    Step step = rows.step(previous);
    int64_t words = step.logits.size(1);
    std::vector<Row> next;
    std::vector<int64_t> parents, of;
    previous.clear();
    for (size_t i = 0; i < open.size(); ++i) {
      Row row = std::move(open[i]);
      Hypothesis& h = row.hypothesis;
      const Real* logits = step.logits.value().data() + static_cast<int64_t>(i) * words;
      AllowedWords allowed(static_cast<int64_t>(h.tokens.size()), rows.limit(row.sentence, options),
                           options.min_length);
      Random random({.seed = options.seed,
                     .purpose = purpose("sample") + static_cast<uint64_t>(row.number),
                     .step = numbers[static_cast<size_t>(row.sentence)],
                     .index = t});
      Id id = draw(choices(logits, words, allowed, options), random.uniform());
      double log_probability =
          h.log_probability + log_share(logits[id], double{kernels::log_sum_exp(logits, words)});
      add_weights(step, static_cast<int64_t>(i), rows.positions(row.sentence), options, h);
      if (id == kEnd) {
        out[static_cast<size_t>(row.sentence)][static_cast<size_t>(row.number)] =
            finish(std::move(h), log_probability, logits, words, allowed, options, step);
        continue;
      }
      h.log_probability = log_probability;
      h.tokens.push_back(id);
      previous.push_back(id);
      parents.push_back(static_cast<int64_t>(i));
      of.push_back(row.sentence);
      next.push_back(std::move(row));
    }
    open = std::move(next);
    if (!open.empty()) rows.keep(parents, std::move(of));
  }
  for (auto& one : out) rank(one, options.n_best);
  return out;
}

}  // namespace lookback
