#include "train/evaluate.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "core/error.h"
#include "core/threads.h"
#include "train/step.h"

namespace lookback {
namespace {

/// What one sentence adds to the measures.
struct Sentence {
  double nll = 0;
  int64_t tokens = 0, right = 0;
};

/// Runs body(batch of indices) over all examples, in batches of like length, side by side.
template <class Length, class Body>
void by_batches(size_t count, int64_t size, Length&& length, Body&& body) {
  std::vector<size_t> order(count);
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return length(a) < length(b); });
  int64_t batches = (static_cast<int64_t>(count) + size - 1) / size;
  parallel_tasks(batches, [&](int64_t i) {
    size_t begin = static_cast<size_t>(i * size),
           end = std::min(count, begin + static_cast<size_t>(size));
    body(std::span<const size_t>(order.data() + begin, end - begin));
  });
}

template <class Body>
void over_examples(const std::vector<Example>& examples, int64_t size, Body&& body) {
  by_batches(
      examples.size(), size,
      [&](size_t i) { return examples[i].source.size() + examples[i].target.size(); },
      [&](std::span<const size_t> which) {
        NoGrad no_history;
        std::vector<Example> chosen;
        for (size_t i : which) chosen.push_back(examples[i]);
        body(which, make_batch(chosen));
      });
}

Measures sum_up(const std::vector<Sentence>& sentences, std::span<const size_t> which) {
  Measures out;
  double nll = 0;
  int64_t right = 0, whole = 0;
  for (size_t i : which) {
    const Sentence& s = sentences[i];
    nll += s.nll;
    out.tokens += s.tokens;
    right += s.right;
    whole += s.right == s.tokens;
  }
  out.examples = static_cast<int64_t>(which.size());
  double tokens = static_cast<double>(std::max<int64_t>(1, out.tokens));
  out.nll = nll / tokens;
  out.token_accuracy = static_cast<double>(right) / tokens;
  out.sequence_accuracy =
      static_cast<double>(whole) / static_cast<double>(std::max<int64_t>(1, out.examples));
  return out;
}

Json measures_json(const Measures& m) {
  Json out;
  out["examples"] = m.examples;
  out["tokens"] = m.tokens;
  out["nll"] = m.nll;
  out["perplexity"] = m.perplexity();
  out["token_accuracy"] = m.token_accuracy;
  out["sequence_accuracy"] = m.sequence_accuracy;
  return out;
}

}  // namespace

double Measures::perplexity() const {
  return std::exp(nll);
}

std::vector<std::string> metric_names() {
  return {"sequence_accuracy", "token_accuracy", "nll", "perplexity"};
}

bool more_is_better(const std::string& metric) {
  return metric == "sequence_accuracy" || metric == "token_accuracy";
}

double Evaluation::metric(const std::string& name) const {
  if (name == "sequence_accuracy") return all.sequence_accuracy;
  if (name == "token_accuracy") return all.token_accuracy;
  if (name == "nll") return all.nll;
  if (name == "perplexity") return all.perplexity();
  fail("[evaluate] there is no metric \"{}\"", name);
}

Json Evaluation::json() const {
  Json out = measures_json(all);
  out["by_length"] = Json::array();
  for (const Length& row : by_length) {
    Json entry;
    entry["from"] = row.from;
    entry["to"] = row.to;
    entry.update(measures_json(row.measures));
    out["by_length"].push_back(entry);
  }
  return out;
}

Evaluation evaluate(const EncoderDecoder& model, const std::vector<Example>& examples,
                    const EvaluateOptions& options) {
  std::vector<Sentence> sentences(examples.size());
  over_examples(examples, options.batch, [&](std::span<const size_t> which, const Batch& batch) {
    Variable logits = model.forward(batch);
    std::vector<std::vector<double>> log_p = token_log_probabilities(logits, batch);
    int64_t words = logits.size(2), positions = logits.size(1);
    for (size_t row = 0; row < which.size(); ++row) {
      Sentence& s = sentences[which[row]];
      s.tokens = batch.target_lengths[row];
      for (int64_t t = 0; t < s.tokens; ++t) {
        const Real* at =
            logits.value().data() + (static_cast<int64_t>(row) * positions + t) * words;
        double log_probability = log_p[row][static_cast<size_t>(t)];
        s.nll -= log_probability;
        // Beside a NaN anything looks the largest; such a row says nothing.
        s.right += std::isfinite(log_probability) &&
                   most_probable(at, words) == batch.target.at(static_cast<int64_t>(row), t);
      }
    }
  });

  Evaluation out;
  std::vector<size_t> everything(examples.size());
  std::iota(everything.begin(), everything.end(), size_t{0});
  out.all = sum_up(sentences, everything);
  if (examples.empty()) return out;
  auto length = [&](size_t i) { return static_cast<int64_t>(examples[i].source.size()); };
  auto [low, high] = std::minmax_element(everything.begin(), everything.end(),
                                         [&](size_t a, size_t b) { return length(a) < length(b); });
  int64_t shortest = length(*low), longest = length(*high);
  int64_t width = options.bucket > 0 ? options.bucket : (longest - shortest) / 20 + 1;
  std::map<int64_t, std::vector<size_t>> buckets;
  for (size_t i : everything) buckets[(length(i) - shortest) / width].push_back(i);
  for (const auto& [bucket, which] : buckets) {
    int64_t from = shortest + bucket * width;
    out.by_length.push_back({from, std::min(from + width - 1, longest), sum_up(sentences, which)});
  }
  return out;
}

std::vector<std::vector<double>> score(const EncoderDecoder& model,
                                       const std::vector<Example>& examples, int64_t batch) {
  std::vector<std::vector<double>> out(examples.size());
  over_examples(examples, batch, [&](std::span<const size_t> which, const Batch& sentences) {
    std::vector<std::vector<double>> log_p =
        token_log_probabilities(model.forward(sentences), sentences);
    for (size_t row = 0; row < which.size(); ++row) out[which[row]] = std::move(log_p[row]);
  });
  return out;
}

namespace {

/// Sentences a batch, at most `most`, so that batches are alike and of an even number: a single batch, or
/// the last one, would leave one of two threads idle. It depends on no number of threads.
int64_t even_batch(size_t count, int64_t most) {
  constexpr int64_t kWorthHalving = 16;
  int64_t sentences = static_cast<int64_t>(count), batches = (sentences + most - 1) / most;
  if (sentences < kWorthHalving) return most;
  batches += batches % 2;
  return (sentences + batches - 1) / batches;
}

}  // namespace

std::vector<std::vector<Decoded>> translate(const EncoderDecoder& model,
                                            const std::vector<std::vector<Id>>& sources,
                                            const DecodeOptions& options, int64_t batch,
                                            const std::vector<uint64_t>& numbers) {
  std::vector<std::vector<Decoded>> out(sources.size());
  by_batches(
      sources.size(), even_batch(sources.size(), batch),
      [&](size_t i) { return sources[i].size(); },
      [&](std::span<const size_t> which) {
        std::vector<std::vector<Id>> chosen;
        std::vector<uint64_t> theirs;
        for (size_t i : which) {
          chosen.push_back(sources[i]);
          theirs.push_back(numbers.empty() ? i : numbers[i]);
        }
        std::vector<std::vector<Decoded>> decoded = decode(model, chosen, options, theirs);
        for (size_t row = 0; row < which.size(); ++row) out[which[row]] = std::move(decoded[row]);
      });
  return out;
}

double bleu(const EncoderDecoder& model, const std::vector<Example>& examples,
            const DecodeOptions& options, int64_t batch) {
  std::vector<std::vector<Id>> sources, references, hypotheses;
  for (const Example& example : examples) {
    sources.push_back(example.source);
    references.push_back(example.target);
  }
  DecodeOptions best = options;
  best.n_best = 1;
  for (auto& decoded : translate(model, sources, best, batch))
    hypotheses.push_back(std::move(decoded.at(0).tokens));
  return bleu(hypotheses, references);
}

}  // namespace lookback
