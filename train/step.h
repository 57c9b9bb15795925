#pragma once

#include <functional>
#include <vector>

#include "core/products.h"
#include "models/encoder_decoder.h"
#include "train/parameters.h"

namespace lookback {

struct StepOptions {
  int64_t shards = 1;                    ///< parts of the batch that run side by side
  double label_smoothing = 0;            ///< see cross_entropy
  Products products = Products::kFloat;  ///< of forward and backward, whatever scope stands around
  /// Work that has nothing to do with this step and must not throw, for the first thread that is
  /// through with its shards. It is left undone where shards do not run side by side.
  std::function<void()> meanwhile = nullptr;
};

/// One forward and backward over one or more batches, whose gradients are added.
struct StepResult {
  double loss = 0;     ///< the training objective, per target token
  double nll = 0;      ///< -log p per target token, without smoothing and padding
  int64_t tokens = 0;  ///< target tokens, end marks included
  ParameterGradients gradients;
};

/// The gradient of the mean loss over all target tokens of the batches.
///
/// How a step uses its cores: each batch is cut into `shards` parts of about equal work; every part
/// runs forward and backward alone, on one thread, over the shared parameters; then one reduction
/// in fixed order. For recurrent models a team for every small op would cost more than the op. A
/// batch of one sentence has one shard and runs its ops parallel inside. The bits depend on the
/// shards, never on the threads.
StepResult forward_backward(const EncoderDecoder& model,
                            const std::vector<Module::Named>& parameters,
                            const std::vector<Batch>& batches, const Pass& pass,
                            const StepOptions& options);

/// What gradients of this norm are multiplied by so that their norm is at most `limit`; 0 is no
/// limit. As torch.nn.utils.clip_grad_norm_ does it.
double clip_factor(double norm, double limit);

/// Which sentences of a batch go to which shard: dealt out by falling length, so that shards take
/// about as long as one another.
std::vector<std::vector<int64_t>> deal(const Batch& batch, int64_t shards);

/// log p(target) of every real target token, in order, sentence by sentence. logits (B, T, V).
std::vector<std::vector<double>> token_log_probabilities(const Variable& logits,
                                                         const Batch& batch);

}  // namespace lookback
