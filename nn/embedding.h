#pragma once

#include "core/ids.h"
#include "nn/module.h"

namespace lookback {

/// A table of word vectors, ids (B, S) -> (B, S, E). Parameter as in torch.nn.Embedding: `weight`
/// (V, E), drawn from N(0, 1).
class Embedding : public Module {
 public:
  struct Options {
    int64_t words = 0;
    int64_t size = 0;
  };
  explicit Embedding(const Options& options);

  Variable operator()(const IdMatrix& ids) const;
  int64_t words() const { return weight_.size(0); }
  int64_t size() const { return weight_.size(1); }

 private:
  Variable weight_;
};

}  // namespace lookback
