#include "train/step.h"

#include <algorithm>
#include <numeric>

#include "autograd/ops.h"
#include "core/error.h"
#include "core/kernels/softmax.h"
#include "core/profile.h"
#include "core/threads.h"
#include "models/decode.h"

namespace lookback {

double clip_factor(double norm, double limit) {
  return limit > 0 ? std::min(1.0, limit / (norm + 1e-6)) : 1;
}

std::vector<std::vector<int64_t>> deal(const Batch& batch, int64_t shards) {
  std::vector<int64_t> order(static_cast<size_t>(batch.size()));
  std::iota(order.begin(), order.end(), 0);
  auto work = [&](int64_t b) {
    size_t at = static_cast<size_t>(b);
    return batch.source_lengths[at] + batch.target_lengths[at];
  };
  std::stable_sort(order.begin(), order.end(),
                   [&](int64_t a, int64_t b) { return work(a) > work(b); });
  int64_t count = std::max<int64_t>(1, std::min(shards, batch.size()));
  std::vector<std::vector<int64_t>> out(static_cast<size_t>(count));
  for (size_t i = 0; i < order.size(); ++i) {
    // To and fro, 0 1 1 0 0 1 ..., or the first shard would always get the longer of two
    // neighbours.
    size_t turn = i / out.size(), at = i % out.size();
    out[turn % 2 == 0 ? at : out.size() - 1 - at].push_back(order[i]);
  }
  return out;
}

std::vector<std::vector<double>> token_log_probabilities(const Variable& logits,
                                                         const Batch& batch) {
  int64_t words = logits.size(2);
  std::vector<std::vector<double>> out(static_cast<size_t>(batch.size()));
  for (int64_t b = 0; b < batch.size(); ++b)
    for (int64_t t = 0; t < batch.target_lengths[static_cast<size_t>(b)]; ++t) {
      const Real* row = logits.value().data() + (b * batch.target.columns + t) * words;
      double log_sum = kernels::log_sum_exp(row, words);
      // As decoding does it: rounding must not make a probability larger than 1.
      out[static_cast<size_t>(b)].push_back(log_share(row[batch.target.at(b, t)], log_sum));
    }
  return out;
}

namespace {

/// What one shard brings home.
struct Part {
  double loss = 0, nll = 0;
  Gradients gradients;
};

Part run_part(const EncoderDecoder& model, const Batch& batch, const Pass& pass, double tokens,
              double label_smoothing) {
  Part out;
  TokenLoss got;
  {
    ProfileScope timed(Phase::kForward, "outside of ops");
    got = model.loss(
        batch, {.ignore = kPad, .divide_by = tokens, .label_smoothing = label_smoothing}, pass);
    out.loss = double{got.loss.item()};
    out.nll = double{got.nll.item()};
  }
  out.gradients = backward(got.loss);
  ProfileScope timed(Phase::kBackward, "freeing the graph");
  got = {};
  return out;
}

/// A shard and the random numbers that are its own.
struct Work {
  Batch batch;
  Pass pass;
};

std::vector<Work> shards_of(const std::vector<Batch>& batches, const Pass& pass, int64_t shards) {
  ProfileScope timed(Phase::kAround, "batch into shards");
  std::vector<Work> work;
  uint64_t sentences = 0, before = pass.key.index;
  for (const Batch& batch : batches) {
    for (const std::vector<int64_t>& rows : deal(batch, shards)) {
      work.push_back({select(batch, rows), pass});
      work.back().pass.key.index += sentences;
      for (int64_t row : rows)
        work.back().pass.sentences.push_back(before + static_cast<uint64_t>(row));
      sentences += rows.size();
    }
    before += static_cast<uint64_t>(batch.size());
  }
  return work;
}

std::vector<Part> run_parts(const EncoderDecoder& model, const std::vector<Work>& work,
                            double tokens, const StepOptions& options) {
  std::vector<Part> parts(work.size());
  auto shard = [&](size_t i) {
    parts[i] = run_part(model, work[i].batch, work[i].pass, tokens, options.label_smoothing);
  };
  if (work.size() == 1) {  // alone it keeps all threads for its ops
    shard(0);
    return parts;
  }
  bool meanwhile = options.meanwhile && threads() > 1 && !detail::inside_parallel;
  int64_t tasks = static_cast<int64_t>(work.size()) + (meanwhile ? 1 : 0);
  ProfileTeam team(detail::inside_parallel ? 1 : std::min<int64_t>(threads(), tasks));
  parallel_tasks(tasks, [&](int64_t i) {
    ProfileTeam::Piece piece(team);
    size_t at = static_cast<size_t>(i);
    at < work.size() ? shard(at) : options.meanwhile();
  });
  return parts;
}

}  // namespace

StepResult forward_backward(const EncoderDecoder& model,
                            const std::vector<Module::Named>& parameters,
                            const std::vector<Batch>& batches, const Pass& pass,
                            const StepOptions& options) {
  StepResult out;
  for (const Batch& batch : batches) out.tokens += batch.target_tokens();
  std::vector<Work> work = shards_of(batches, pass, options.shards);
  if (out.tokens == 0) fail("[step] the batches hold no target token");
  std::vector<Part> parts;
  {
    ProductsScope products(options.products);
    parts = run_parts(model, work, static_cast<double>(out.tokens), options);
  }

  ProfileScope timed(Phase::kAround, "sum over shards, norm");
  std::vector<Gradients> gradients;
  for (Part& part : parts) {
    out.loss += part.loss;
    out.nll += part.nll;
    gradients.push_back(std::move(part.gradients));
  }
  out.gradients = reduce(parameters, std::move(gradients));
  return out;
}

}  // namespace lookback
