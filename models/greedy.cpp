#include "models/greedy.h"

#include "core/kernels/softmax.h"

namespace lookback {

Id most_probable(const Real* logits, int64_t words) {
  Id best = kUnknown;
  for (Id id = kEnd; id < words; ++id)
    if (logits[id] > logits[best]) best = id;
  return best;
}

namespace {

void keep_weights(const Variable& weights, int64_t row, int64_t length, Decoded& out) {
  const Real* from = weights.value().data() + row * weights.size(-1);
  out.weights.emplace_back(from, from + length);
}

}  // namespace

std::vector<Decoded> decode_greedy(const EncoderDecoder& model,
                                   std::span<const std::vector<Id>> sources,
                                   const DecodeOptions& options) {
  std::vector<Decoded> out(sources.size());
  if (sources.empty()) return out;
  NoGrad no_history;
  Batch batch = make_source_batch(sources);
  Memory memory = model.encode(batch.source, batch.source_lengths);
  DecoderState state = model.start(memory);
  std::vector<Id> previous(sources.size(), kBegin);
  std::vector<uint8_t> open(sources.size(), 1);
  size_t still_open = sources.size();
  for (int64_t t = 0; still_open > 0; ++t) {
    Step step = model.step(previous, state, memory);
    state = step.state;
    int64_t words = step.logits.size(1);
    for (size_t b = 0; b < sources.size(); ++b) {
      if (!open[b]) continue;
      int64_t row = static_cast<int64_t>(b);
      int64_t limit = options.max_length >= 0 ? options.max_length
                                              : 2 * static_cast<int64_t>(sources[b].size()) + 10;
      const Real* logits = step.logits.value().data() + row * words;
      Id next = most_probable(logits, words);
      if (t < limit || next == kEnd) {
        out[b].log_probability += logits[next] - kernels::log_sum_exp(logits, words);
        if (options.weights && step.weights.defined())
          keep_weights(step.weights, row, batch.source_lengths[b], out[b]);
      }
      if (next == kEnd || t >= limit) {
        out[b].finished = next == kEnd;
        open[b] = 0;
        --still_open;
      } else {
        out[b].tokens.push_back(next);
      }
      previous[b] = next;
    }
  }
  return out;
}

}  // namespace lookback
