#pragma once

#include "core/ids.h"
#include "nn/module.h"

namespace lookback {

/// A table of word vectors, ids (B, S) -> (B, S, E). Parameter as in torch.nn.Embedding: `weight`
/// (V, E), drawn from N(0, 1). Scaled (Vaswani et al., 2017, section 3.4), it is drawn from
/// N(0, 1/E) and its vectors are multiplied by sqrt(E): the same vectors at first, in a table that
/// can also be the weight of an output layer.
class Embedding : public Module {
 public:
  struct Options {
    int64_t words = 0;
    int64_t size = 0;
    bool scaled = false;
  };
  /// `tied`: another layer's table, (V, E), which this one then uses and does not register.
  explicit Embedding(const Options& options, const Variable& tied = {});

  Variable operator()(const IdMatrix& ids) const;
  /// The same for layers that multiply a word that stands in many places once (Gathered).
  Variable by_word(const IdMatrix& ids) const;
  const Variable& weight() const { return weight_; }
  int64_t words() const { return weight_.size(0); }
  int64_t size() const { return weight_.size(1); }

 private:
  Real factor_;
  Variable weight_;
};

}  // namespace lookback
