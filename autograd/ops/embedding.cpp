#include <algorithm>

#include "autograd/node.h"
#include "autograd/ops.h"
#include "autograd/ops/gather_rows.h"
#include "core/error.h"
#include "core/kernels/vector.h"
#include "core/threads.h"

namespace lookback {

void gather_rows(const Real* table, std::span<const Id> index, int64_t width, Real* out) {
  parallel_for(static_cast<int64_t>(index.size()), 1 + (1 << 15) / (width + 1),
               [&](int64_t begin, int64_t end) {
                 for (int64_t i = begin; i < end; ++i)
                   std::copy_n(table + index[static_cast<size_t>(i)] * width, width,
                               out + i * width);
               });
}

void scatter_add_rows(const Real* rows, std::span<const Id> index, int64_t width, Real* table) {
  // Cut by columns: whatever the threads, a row of the table is added to in the same order.
  int64_t grain = std::max<int64_t>(64, (1 << 15) / (static_cast<int64_t>(index.size()) + 1));
  parallel_for(width, grain, [&](int64_t begin, int64_t end) {
    for (size_t i = 0; i < index.size(); ++i)
      kernels::add_scaled(1, rows + static_cast<int64_t>(i) * width + begin,
                          table + index[i] * width + begin, end - begin);
  });
}

namespace {

Variable take(const char* op, const Variable& table, std::vector<Id> index, const Shape& shape) {
  Tensor out(shape);
  const int64_t width = table.size(1);
  gather_rows(table.value().data(), index, width, out.data());
  return GraphBuilder(op, {table})
      .result(out, [index = std::move(index), width](OutputGradients g, GradientSink& into) {
        scatter_add_rows(g[0].data(), index, width, into.accumulated(0).data());
      });
}

void check(const Variable& weight, const IdMatrix& ids) {
  if (weight.rank() != 2)
    fail("[embedding] the table must be (V, E), not {}", weight.shape().text());
  for (size_t i = 0; i < ids.values.size(); ++i)
    if (ids.values[i] < 0 || ids.values[i] >= weight.size(0))
      fail("[embedding] id {} at ({}, {}) is outside the table of {} words", ids.values[i],
           static_cast<int64_t>(i) / ids.columns, static_cast<int64_t>(i) % ids.columns,
           weight.size(0));
}

/// The ids that occur, each once and in rising order.
std::vector<Id> distinct(const std::vector<Id>& ids) {
  std::vector<Id> out = ids;
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

}  // namespace

Variable gather(std::shared_ptr<const Gathered> rows, const Shape& shape) {
  if (rows->table.rank() != 2 || shape.columns() != rows->table.size(1) ||
      shape.rows() != static_cast<int64_t>(rows->index.size()))
    fail("[gather] {} rows of {} are not {}", rows->index.size(), rows->table.shape().text(),
         shape.text());
  for (Id row : rows->index)
    if (row < 0 || row >= rows->table.size(0))
      fail("[gather] row {} is outside the table {}", row, rows->table.shape().text());
  Variable out = take("gather", rows->table, rows->index, shape);
  out.gathered_ = std::move(rows);
  return out;
}

Variable embedding(const Variable& weight, const IdMatrix& ids) {
  check(weight, ids);
  return take("embedding", weight, ids.values, {ids.rows, ids.columns, weight.size(1)});
}

Variable embedding_by_word(const Variable& weight, const IdMatrix& ids) {
  // With more different words than this, copying costs what the products save.
  constexpr double kMostDifferent = 0.75;
  if (ids.columns == 1 || ids.values.empty()) return embedding(weight, ids);  // a step of decoding
  check(weight, ids);
  std::vector<Id> words = distinct(ids.values);
  const int64_t count = static_cast<int64_t>(words.size()), width = weight.size(1);
  if (static_cast<double>(count) > kMostDifferent * static_cast<double>(ids.values.size()))
    return embedding(weight, ids);
  auto rows = std::make_shared<Gathered>();
  rows->index.reserve(ids.values.size());
  for (Id id : ids.values)
    rows->index.push_back(
        static_cast<Id>(std::lower_bound(words.begin(), words.end(), id) - words.begin()));
  rows->table = take("embedding", weight, std::move(words), {count, width});
  return gather(std::move(rows), {ids.rows, ids.columns, width});
}

}  // namespace lookback
