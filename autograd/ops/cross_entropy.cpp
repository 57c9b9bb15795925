#include <algorithm>

#include "autograd/node.h"
#include "autograd/ops.h"
#include "autograd/ops/target_rows.h"
#include "core/kernels/softmax.h"
#include "core/threads.h"

namespace lookback {

Variable cross_entropy(const Variable& logits, const IdMatrix& targets,
                       const CrossEntropyOptions& options) {
  int64_t rows = logits.shape().rows(), words = logits.shape().columns();
  check_targets("cross_entropy", "logits", logits.shape(), targets, words);

  Tensor log_sums(
      {rows});  // log sum_v e^(logit_v) of each row: all that backward needs besides the logits
  std::vector<double> losses(static_cast<size_t>(rows), 0);
  double smoothing = options.label_smoothing;
  parallel_for(rows, row_grain(words), [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) {
      Id target = targets.values[r];
      if (target == options.ignore) continue;
      const Real* row = logits.value().data() + r * words;
      Real log_sum = kernels::log_sum_exp(row, words);
      log_sums.data()[r] = log_sum;
      double loss = static_cast<double>(log_sum) - row[target];
      if (smoothing > 0) {
        double total = 0;
        for (int64_t v = 0; v < words; ++v) total += row[v];
        loss = (1 - smoothing) * loss + smoothing * (log_sum - total / static_cast<double>(words));
      }
      losses[r] = loss;
    }
  });
  double sum = 0;
  for (double loss : losses) sum += loss;

  // d/d logit_v = (p_v - (1 - e) [v = target] - e / V) / divide_by
  return GraphBuilder("cross_entropy", {logits})
      .result(Tensor::scalar(static_cast<Real>(sum / options.divide_by)),
              [logits = logits.value(), log_sums, targets, options, rows, words](
                  OutputGradients g, GradientSink& into) {
                Tensor d(logits.shape());
                Real factor = static_cast<Real>(g[0].item() / options.divide_by);
                Real spread =
                    static_cast<Real>(options.label_smoothing / static_cast<double>(words));
                parallel_for(rows, row_grain(words), [&](int64_t begin, int64_t end) {
                  for (int64_t r = begin; r < end; ++r) {
                    Real* out = d.data() + r * words;
                    Id target = targets.values[r];
                    if (target == options.ignore) {
                      std::fill_n(out, words, Real{0});
                      continue;
                    }
                    kernels::scaled_exp(logits.data() + r * words, log_sums.data()[r], factor, out,
                                        words);
                    if (spread > 0)
                      for (int64_t v = 0; v < words; ++v) out[v] -= factor * spread;
                    out[target] -= factor * static_cast<Real>(1 - options.label_smoothing);
                  }
                });
                into.add(0, d);
              });
}

}  // namespace lookback
