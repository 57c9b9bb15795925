#include "study/explain.h"

#include <algorithm>
#include <cmath>

#include "autograd/ops.h"
#include "core/error.h"
#include "models/decode.h"
#include "study/source_gradients.h"
#include "train/step.h"

namespace lookback {
namespace {

Batch batch_of(const std::vector<Id>& source, const std::vector<Id>& target) {
  return make_batch(std::vector{Example{source, target}});
}

/// log p_t for each target token, given a memory.
std::vector<double> log_p(const EncoderDecoder& model, const Batch& batch, const Memory& memory) {
  return token_log_probabilities(model.forward(batch, memory), batch).at(0);
}

/// The attention of every step, one token after another: [layer][head] (T, S).
std::vector<std::vector<Grid>> weights_of(const EncoderDecoder& model, const Batch& batch,
                                          const Memory& memory) {
  std::vector<std::vector<Grid>> out;
  DecoderState state = model.start(memory);
  for (int64_t t = 0; t < batch.decoder_input.columns; ++t) {
    Id previous = batch.decoder_input.at(0, t);
    Step step = model.step(std::span(&previous, 1), state, memory);
    state = step.state;
    if (!step.weights.defined()) return {};
    int64_t layers = step.weights.size(1), heads = step.weights.size(2),
            positions = step.weights.size(3);
    out.resize(static_cast<size_t>(layers));
    for (int64_t layer = 0; layer < layers; ++layer) {
      auto& by_head = out[static_cast<size_t>(layer)];
      by_head.resize(static_cast<size_t>(heads));
      for (int64_t head = 0; head < heads; ++head) {
        const Real* row = step.weights.value().data() + (layer * heads + head) * positions;
        by_head[static_cast<size_t>(head)].emplace_back(row, row + positions);
      }
    }
  }
  return out;
}

Grid mean_of(const std::vector<std::vector<Grid>>& weights) {
  Grid mean;
  double parts = 0;
  for (const auto& layer : weights) parts += static_cast<double>(layer.size());
  for (const auto& layer : weights)
    for (const Grid& head : layer) {
      if (mean.empty()) mean.assign(head.size(), std::vector<double>(head[0].size(), 0.0));
      for (size_t t = 0; t < head.size(); ++t)
        for (size_t j = 0; j < head[t].size(); ++j) mean[t][j] += head[t][j] / parts;
    }
  return mean;
}

/// Memory that differs in one position -> how far each log p_t falls, as columns of a grid.
template <class Changed>
Grid falls(const EncoderDecoder& model, const Batch& batch, const std::vector<double>& whole,
           Changed&& changed) {
  size_t positions = static_cast<size_t>(batch.source.columns);
  Grid out(whole.size(), std::vector<double>(positions));
  for (size_t j = 0; j < positions; ++j) {
    std::vector<double> without = log_p(model, batch, changed(static_cast<int64_t>(j)));
    for (size_t t = 0; t < whole.size(); ++t) out[t][j] = whole[t] - without[t];
  }
  return out;
}

/// The mask of one sentence without one position.
Mask without(const Mask& mask, int64_t position) {
  std::vector<uint8_t> allowed(mask.row(0), mask.row(0) + mask.columns());
  allowed[static_cast<size_t>(position)] = 0;
  return Mask(1, mask.columns(), std::move(allowed));
}

}  // namespace

Explanation explain(const EncoderDecoder& model, const std::vector<Id>& source,
                    const std::vector<Id>* target) {
  if (source.empty()) fail("[explain] a source without tokens");
  Explanation out;
  std::vector<Id> said;
  {
    NoGrad no_history;
    said = target ? *target : decode(model, std::span(&source, 1)).at(0).at(0).tokens;
  }
  Batch batch = batch_of(source, said);
  out.source = source;
  out.source.push_back(kEnd);
  out.target = said;
  out.target.push_back(kEnd);
  {
    NoGrad no_history;
    Variable vectors = model.embed(batch.source);
    Memory memory = model.encode(vectors, batch.source_lengths);
    std::vector<double> whole = log_p(model, batch, memory);
    for (double p : whole) out.log_probability += p;
    out.weights = weights_of(model, batch, memory);
    out.mean_weights = mean_of(out.weights);
    if (!out.weights.empty())
      out.ablation = falls(model, batch, whole, [&](int64_t j) {
        Memory hidden = memory;
        hidden.mask = without(memory.mask, j);
        return hidden;
      });
    out.erasure = falls(model, batch, whole, [&](int64_t j) {
      Tensor changed = vectors.value().clone();
      int64_t units = changed.size(2);
      std::fill_n(changed.data() + j * units, units, Real{0});
      return model.encode(changed, batch.source_lengths);
    });
  }
  SourceGradients gradients = source_gradients(model, {source, said});
  out.gradient = std::move(gradients.norm);
  out.product = std::move(gradients.product);
  for (std::vector<double>& row : out.product)
    for (double& value : row) value = -value;  // of log p, not of its negative
  return out;
}

}  // namespace lookback
