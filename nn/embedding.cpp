#include "nn/embedding.h"

#include <cmath>

#include "autograd/ops.h"
#include "core/error.h"

namespace lookback {

Embedding::Embedding(const Options& o, const Variable& tied)
    : factor_(o.scaled ? std::sqrt(static_cast<Real>(o.size)) : Real{1}), weight_(tied) {
  if (o.words < 1 || o.size < 1)
    fail("[embedding] needs at least one word and one unit, not {} and {}", o.words, o.size);
  if (!tied.defined())
    weight_ = parameter("weight", {o.words, o.size}, normal(1 / double{factor_}));
  else if (tied.shape() != Shape{o.words, o.size})
    fail("[embedding] the tied table {} must be ({}, {})", tied.shape().text(), o.words, o.size);
}

Variable Embedding::operator()(const IdMatrix& ids) const {
  Variable rows = embedding(weight_, ids);
  return factor_ == 1 ? rows : scale(rows, factor_);
}

Variable Embedding::by_word(const IdMatrix& ids) const {
  Variable rows = embedding_by_word(weight_, ids);
  if (factor_ == 1) return rows;
  if (!rows.gathered()) return scale(rows, factor_);
  auto scaled = std::make_shared<Gathered>(*rows.gathered());
  scaled->table = scale(scaled->table, factor_);
  return gather(std::move(scaled), rows.shape());
}

}  // namespace lookback
