#include "nn/embedding.h"

#include "autograd/ops.h"
#include "core/error.h"

namespace lookback {

Embedding::Embedding(const Options& options) {
  if (options.words < 1 || options.size < 1)
    fail("[embedding] needs at least one word and one unit, not {} and {}", options.words,
         options.size);
  weight_ = parameter("weight", {options.words, options.size}, normal(1));
}

Variable Embedding::operator()(const IdMatrix& ids) const {
  return embedding(weight_, ids);
}

}  // namespace lookback
