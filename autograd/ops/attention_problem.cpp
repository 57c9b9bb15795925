#include "autograd/ops/attention_problem.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "core/kernels/vector.h"

namespace lookback {

HeadView view(const Heads& heads) {
  const Shape& shape = heads.x.shape();
  if (shape.rank() == 4)
    return {.offset = 0,
            .batch = shape[1] * shape[2] * shape[3],
            .head = shape[2] * shape[3],
            .row = shape[3]};
  return {
      .offset = heads.column, .batch = shape[1] * shape[2], .head = heads.size, .row = shape[2]};
}

namespace {

/// The rows of a matrix, with zeros where the mask has a hole.
Tensor without_holes(const MatrixView& m, const uint8_t* allowed) {
  Tensor out({m.rows, m.columns});
  for (int64_t s = 0; s < m.rows; ++s) {
    Real* to = out.data() + s * m.columns;
    if (allowed[s])
      std::copy_n(m.data + s * m.stride, m.columns, to);
    else
      std::fill_n(to, m.columns, Real{0});
  }
  return out;
}

bool all_finite(const MatrixView& m) {
  return kernels::all_finite(m.data, m.rows, m.columns, m.stride);
}

}  // namespace

GroupKeys AttentionProblem::group_keys(int64_t b, int64_t g) const {
  GroupKeys out;
  out.visible = S;
  if (mask.defined()) {
    const uint8_t* allowed = mask.row(key_row(b));
    while (out.visible > 0 && !allowed[out.visible - 1]) --out.visible;
    if (std::find(allowed, allowed + out.visible, uint8_t{0}) != allowed + out.visible)
      out.holes = allowed;
    while (out.first < out.visible && !allowed[out.first]) ++out.first;
  }
  out.keys = {keys.data() + k.at(key_row(b), g), out.visible, K, k.row};
  out.values = {values.data() + v.at(key_row(b), g), out.visible, V, v.row};
  if (out.holes) {
    out.copied_keys = without_holes(out.keys, out.holes);
    out.copied_values = without_holes(out.values, out.holes);
    out.keys = matrix(out.copied_keys.data(), out.visible, K);
    out.values = matrix(out.copied_values.data(), out.visible, V);
  }
  // A product with a weight of 0 would carry a NaN of the future into the past.
  if (mask.is_causal() && T > 1) out.finite = all_finite(out.keys) && all_finite(out.values);
  return out;
}

GroupKeys AttentionProblem::group_keys(int64_t b, int64_t g, const Tensor& of_context) const {
  GroupKeys out = group_keys(b, g);
  // A query that is no number, or its gradient, must not reach the keys that it may not see.
  if (T > 1 && (mask.is_causal() || out.holes))
    for (int64_t h = g * group(); h < (g + 1) * group() && out.finite; ++h)
      out.finite =
          all_finite(queries(b, h, 0, T)) && all_finite(context_rows(of_context, b, h, 0, T));
  return out;
}

AttentionProblem::Block AttentionProblem::block(const GroupKeys& group, int64_t t,
                                                int64_t most) const {
  int64_t rows = group.finite ? std::min(most, T - t) : 1;
  return {rows, seen(group, t + rows - 1)};
}

Random AttentionProblem::draws(int64_t b, int64_t h, int64_t t) const {
  RandomKey own = key;
  own.purpose = mix(
      {.seed = key.purpose, .purpose = static_cast<uint64_t>(h), .step = static_cast<uint64_t>(t)});
  own.index += static_cast<uint64_t>(b);
  return Random(own);
}

int64_t AttentionProblem::grain(int64_t rows) const {
  return std::max<int64_t>(1, (1 << 18) / (rows * S * (K + V) + 1));
}

GroupMatrix::GroupMatrix(const MatrixView& rows, bool transpose, bool several)
    : rows_(rows), transpose_(transpose) {
  if (several) packed_ = PackedMatrix(transpose ? transposed(rows) : rows);
}

void GroupMatrix::multiply(const MatrixView& a, int64_t first, const MutableMatrix& c,
                           bool accumulate) const {
  const MatrixView some = row_block(rows_, first, transpose_ ? c.columns : a.columns);
  if (a.rows == 1 && transpose_) {
    kernels::dots(a.data, {some.data, some.stride, some.rows, some.columns}, c.data);
  } else if (a.rows == 1) {
    if (!accumulate) std::fill_n(c.data, c.columns, Real{0});
    kernels::add_weighted(a.data, {some.data, some.stride, some.rows, some.columns}, c.data);
  } else if (packed_.empty()) {
    gemm(a, transpose_ ? transposed(some) : some, c, {.accumulate = accumulate});
  } else {
    gemm(a,
         transpose_ ? packed_.part(0, first, some.columns, some.rows)
                    : packed_.part(first, 0, some.rows, some.columns),
         c, {.accumulate = accumulate});
  }
}

ForwardGroup::ForwardGroup(const AttentionProblem& p, int64_t b, int64_t g, bool several)
    : group(p.group_keys(b, g)),
      keys(group.keys, true, several && group.finite),
      values(group.values, false, several && group.finite) {}

void add_transposed_product(const MatrixView& a, const MatrixView& b, const MutableMatrix& c) {
  if (a.rows == 1) {
    for (int64_t s = 0; s < a.columns; ++s)
      if (a.data[s] != 0) kernels::add_scaled(a.data[s], b.data, c.data + s * c.stride, c.columns);
    return;
  }
  MutableMatrix rows = c;
  rows.rows = a.columns;
  gemm(transposed(a), b, rows, {.accumulate = true});
}

void clear_holes(const GroupKeys& group, int64_t first, int64_t count, Real* row) {
  if (!group.holes) return;
  for (int64_t s = 0; s < count; ++s)
    if (!group.holes[first + s]) row[s] = 0;
}

void add_weight_gradient(const GroupKeys& group, const Real* of_weights, int64_t first,
                         int64_t count, Real* row) {
  const uint8_t* allowed = group.holes ? group.holes + first : nullptr;
  for (int64_t s = 0; s < count; ++s)
    if (!allowed || allowed[s]) row[s] += of_weights[first + s];
}

Real weight_gradient_sum(const GroupKeys& group, const Real* of_weights, const Real* weights,
                         int64_t count) {
  if (!group.holes) return kernels::dot(weights, of_weights, count);
  Real sum = 0;
  for (int64_t s = 0; s < count; ++s)
    if (group.holes[s]) sum += weights[s] * of_weights[s];
  return sum;
}

namespace {

/// Whether heads of different groups would add into the same numbers, the gradients being at a and b.
bool clash(const Real* a, const HeadView& x, int64_t x_heads, int64_t x_size, const Real* b,
           const HeadView& y, int64_t y_heads, int64_t y_size) {
  if (!a || a != b) return false;
  bool same = x.offset == y.offset && x_heads == y_heads && x_size == y_size;
  bool columns = x.head == x_size;  // else (B, heads, S, K), of which each uses all
  bool apart = columns &&
               (x.offset + x_heads * x_size <= y.offset || y.offset + y_heads * y_size <= x.offset);
  return !same && !apart;
}

}  // namespace

int64_t AttentionGradients::groups_together(const AttentionProblem& p) const {
  bool any = clash(query, p.q, p.H, p.K, keys, p.k, p.G, p.K) ||
             clash(query, p.q, p.H, p.K, values, p.v, p.G, p.V) ||
             clash(keys, p.k, p.G, p.K, values, p.v, p.G, p.V);
  return any ? p.G : 1;
}

void drop_row(double p, Random& random, Real* row, int64_t count) {
  const Real keep = static_cast<Real>(1 / (1 - p));
  const uint64_t threshold = static_cast<uint64_t>(std::ceil(p * 0x1.0p32));
  std::array<uint32_t, 128> draws;
  for (int64_t size = static_cast<int64_t>(draws.size()); count > 0; row += size, count -= size) {
    size = std::min(size, count);
    random.fill(draws.data(), size);
    for (int64_t s = 0; s < size; ++s) row[s] *= draws[s] < threshold ? Real{0} : keep;
  }
}

void drop_alike(double p, const Real* dropped, Real* row, int64_t count) {
  const Real keep = static_cast<Real>(1 / (1 - p));
  for (int64_t s = 0; s < count; ++s) row[s] *= dropped[s] != 0 ? keep : Real{0};
}

}  // namespace lookback
