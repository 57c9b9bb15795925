#include <algorithm>
#include <limits>

#include "core/kernels/softmax.h"
#include "models/decode_rows.h"

// A sentence has `beam` places. A finished hypothesis stays in one; the open ones share the rest: at
// each step the likeliest continuations of all open ones, ties to the earlier hypothesis, then to
// the smaller id. The sentence is done when no open one can still get among the n best.

namespace lookback {
namespace {

struct Candidate {
  double log_probability;
  int64_t open;  ///< which hypothesis it continues
  Id id;

  bool better_than(const Candidate& other) const {
    if (log_probability != other.log_probability) return log_probability > other.log_probability;
    return open != other.open ? open < other.open : id < other.id;
  }
};

bool better(const Candidate& a, const Candidate& b) {
  return a.better_than(b);
}

/// The best candidates so far, at most `places`, the worst of them on top of a heap.
class Best {
 public:
  explicit Best(int64_t places) : places_(static_cast<size_t>(places)) {}

  void offer(const Candidate& c) {
    if (heap_.size() == places_) {
      if (!c.better_than(heap_.front())) return;
      std::pop_heap(heap_.begin(), heap_.end(), better);
      heap_.pop_back();
    }
    heap_.push_back(c);
    std::push_heap(heap_.begin(), heap_.end(), better);
  }
  /// No worse one needs to be offered.
  double threshold() const {
    return heap_.size() < places_ ? -std::numeric_limits<double>::infinity()
                                  : heap_.front().log_probability;
  }
  std::vector<Candidate> in_order() {
    std::sort(heap_.begin(), heap_.end(), better);
    return std::move(heap_);
  }

 private:
  size_t places_;
  std::vector<Candidate> heap_;
};

struct Sentence {
  int64_t limit = 0;
  std::vector<Hypothesis> open{1};
  std::vector<Decoded> finished;

  /// Whether no open hypothesis can still get among the n best: its score is at most what it has
  /// now, divided by the penalty of the greatest length.
  bool done(const DecodeOptions& o) const {
    if (open.empty()) return true;
    size_t wanted = static_cast<size_t>(o.n_best);
    if (finished.size() < wanted) return false;
    std::vector<double> scores;
    for (const Decoded& one : finished) scores.push_back(one.score);
    std::sort(scores.begin(), scores.end(), std::greater<>());
    for (const Hypothesis& one : open)
      if (o.length_penalty.score(one.log_probability, limit + 1) > scores[wanted - 1]) return false;
    return true;
  }
};

class BeamSearch {
 public:
  BeamSearch(const EncoderDecoder& model, std::span<const std::vector<Id>> sources,
             const DecodeOptions& options)
      : options_(options), rows_(model, sources, 1), sentences_(sources.size()) {
    for (size_t b = 0; b < sentences_.size(); ++b)
      sentences_[b].limit = rows_.limit(static_cast<int64_t>(b), options);
  }

  std::vector<std::vector<Decoded>> run() {
    std::vector<int64_t> active(sentences_.size());
    for (size_t b = 0; b < active.size(); ++b) active[b] = static_cast<int64_t>(b);
    std::vector<Id> previous(sentences_.size(), kBegin);
    while (!active.empty()) {
      Step step = rows_.step(previous);
      std::vector<int64_t> parents, of, still;
      previous.clear();
      int64_t row = 0;
      for (int64_t b : active) {
        Sentence& sentence = sentences_[static_cast<size_t>(b)];
        int64_t first = row;
        row += static_cast<int64_t>(sentence.open.size());
        std::vector<int64_t> from = advance(b, first, step);
        if (sentence.done(options_)) continue;
        still.push_back(b);
        for (size_t i = 0; i < from.size(); ++i) {
          parents.push_back(first + from[i]);
          of.push_back(b);
          previous.push_back(sentence.open[i].tokens.back());
        }
      }
      active = std::move(still);
      if (!active.empty()) rows_.keep(parents, std::move(of));
    }
    std::vector<std::vector<Decoded>> out;
    for (Sentence& sentence : sentences_) {
      rank(sentence.finished, options_.n_best);
      out.push_back(std::move(sentence.finished));
    }
    return out;
  }

 private:
  std::vector<Candidate> candidates(const Sentence& sentence, int64_t first, const Step& step) {
    Best best(options_.beam - static_cast<int64_t>(sentence.finished.size()));
    int64_t words = step.logits.size(1);
    for (size_t i = 0; i < sentence.open.size(); ++i) {
      const Hypothesis& open = sentence.open[i];
      const Real* logits = row_of(step, first + static_cast<int64_t>(i));
      AllowedWords allowed = allowed_after(sentence, open);
      double total = double{kernels::log_sum_exp(logits, words)};
      for (Id id = kUnknown; id < words; ++id) {
        double log_probability = open.log_probability + log_share(logits[id], total);
        // A word that cannot be is no candidate, unless nothing else is left.
        bool possible = log_probability > -std::numeric_limits<double>::infinity();
        if ((possible || allowed.only_end()) && log_probability >= best.threshold() && allowed(id))
          best.offer({log_probability, static_cast<int64_t>(i), id});
      }
    }
    return best.in_order();
  }

  /// One step of a sentence whose open hypotheses stand at rows `first` on; which of them each new
  /// one follows.
  std::vector<int64_t> advance(int64_t b, int64_t first, const Step& step) {
    Sentence& sentence = sentences_[static_cast<size_t>(b)];
    std::vector<Hypothesis> next;
    std::vector<int64_t> from;
    int64_t words = step.logits.size(1);
    std::vector<Candidate> chosen = candidates(sentence, first, step);
    // Where a model has run away there is nothing but NaN to choose from; whoever asked sees it.
    if (chosen.empty()) chosen.push_back({std::numeric_limits<double>::quiet_NaN(), 0, kEnd});
    for (const Candidate& c : chosen) {
      Hypothesis hypothesis = sentence.open[static_cast<size_t>(c.open)];
      AllowedWords allowed = allowed_after(sentence, hypothesis);
      add_weights(step, first + c.open, rows_.positions(b), options_, hypothesis);
      if (c.id == kEnd) {
        sentence.finished.push_back(finish(std::move(hypothesis), c.log_probability,
                                           row_of(step, first + c.open), words, allowed, options_,
                                           step));
        continue;
      }
      hypothesis.tokens.push_back(c.id);
      hypothesis.log_probability = c.log_probability;
      next.push_back(std::move(hypothesis));
      from.push_back(c.open);
    }
    sentence.open = std::move(next);
    return from;
  }

  static const Real* row_of(const Step& step, int64_t row) {
    return step.logits.value().data() + row * step.logits.size(1);
  }
  AllowedWords allowed_after(const Sentence& sentence, const Hypothesis& open) const {
    return {static_cast<int64_t>(open.tokens.size()), sentence.limit, options_.min_length};
  }

  const DecodeOptions& options_;
  DecodeRows rows_;
  std::vector<Sentence> sentences_;
};

}  // namespace

std::vector<std::vector<Decoded>> beam_search(const EncoderDecoder& model,
                                              std::span<const std::vector<Id>> sources,
                                              const DecodeOptions& options) {
  return BeamSearch(model, sources, options).run();
}

}  // namespace lookback
