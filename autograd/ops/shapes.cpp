#include <algorithm>
#include <numeric>

#include "autograd/node.h"
#include "autograd/ops.h"
#include "core/error.h"

namespace lookback {
namespace {

/// A tensor seen as (outer, size, inner) around one dimension.
struct Around {
  int64_t outer = 1, size = 1, inner = 1;
};

Around around(const Shape& shape, int axis) {
  Around out;
  for (int i = 0; i < axis; ++i) out.outer *= shape[i];
  out.size = shape[axis];
  for (int i = axis + 1; i < shape.rank(); ++i) out.inner *= shape[i];
  return out;
}

/// Copies `length` positions of one dimension between tensors that agree in all others.
void copy_positions(const Tensor& from, int64_t from_begin, Tensor& to, int64_t to_begin,
                    int64_t length, int axis) {
  Around a = around(from.shape(), axis), b = around(to.shape(), axis);
  for (int64_t o = 0; o < a.outer; ++o)
    std::copy_n(from.data() + (o * a.size + from_begin) * a.inner, length * a.inner,
                to.data() + (o * b.size + to_begin) * b.inner);
}

Tensor positions(const Tensor& x, int axis, int64_t begin, int64_t length) {
  Shape shape = x.shape();
  shape.set(axis, length);
  Tensor out(shape);
  copy_positions(x, begin, out, 0, length, axis);
  return out;
}

Tensor transposed_copy(const Tensor& x, int first, int second) {
  Shape shape = x.shape();
  shape.set(first, x.size(second));
  shape.set(second, x.size(first));
  Tensor out(shape);
  if (x.count() == 0) return out;
  // (outer, P, middle, Q, inner) -> (outer, Q, middle, P, inner)
  if (first > second) std::swap(first, second);
  Around p = around(x.shape(), first), q = around(x.shape(), second);
  int64_t middle = p.inner / (q.size * q.inner);
  for (int64_t o = 0; o < p.outer; ++o)
    for (int64_t i = 0; i < p.size; ++i)
      for (int64_t m = 0; m < middle; ++m)
        for (int64_t j = 0; j < q.size; ++j)
          std::copy_n(x.data() + (((o * p.size + i) * middle + m) * q.size + j) * q.inner, q.inner,
                      out.data() + (((o * q.size + j) * middle + m) * p.size + i) * q.inner);
  return out;
}

/// The shape without, or with, one dimension.
Shape without(const Shape& shape, int axis) {
  Shape out;
  for (int i = 0; i < shape.rank(); ++i)
    if (i != axis) out.append(shape[i]);
  return out;
}

Shape with(const Shape& shape, int axis, int64_t size) {
  Shape out;
  for (int i = 0; i <= shape.rank(); ++i) {
    if (i == axis) out.append(size);
    if (i < shape.rank()) out.append(shape[i]);
  }
  return out;
}

}  // namespace

Variable reshape(const Variable& x, const Shape& shape) {
  return GraphBuilder("reshape", {x})
      .result(x.value().reshape(shape),
              [before = x.shape()](OutputGradients g, GradientSink& into) {
                into.add(0, g[0].reshape(before));
              });
}

Variable transpose(const Variable& x, int first, int second) {
  first = x.shape().axis(first);
  second = x.shape().axis(second);
  if (first == second) return x;
  return GraphBuilder("transpose", {x})
      .result(transposed_copy(x.value(), first, second),
              [first, second](OutputGradients g, GradientSink& into) {
                into.add(0, transposed_copy(g[0], first, second));
              });
}

Variable concat(std::span<const Variable> parts, int dim) {
  if (parts.empty()) fail("[concat] nothing to join");
  int axis = parts[0].shape().axis(dim);
  Shape shape = parts[0].shape();
  int64_t total = 0;
  for (const Variable& part : parts) {
    Shape expected = shape;
    if (part.rank() == shape.rank()) expected.set(axis, part.size(axis));
    if (part.shape() != expected)
      fail("[concat] {} and {} differ outside dimension {}", parts[0].shape().text(),
           part.shape().text(), axis);
    total += part.size(axis);
  }
  shape.set(axis, total);
  Tensor out(shape);
  std::vector<int64_t> lengths;
  int64_t at = 0;
  for (const Variable& part : parts) {
    copy_positions(part.value(), 0, out, at, part.size(axis), axis);
    lengths.push_back(part.size(axis));
    at += part.size(axis);
  }
  return GraphBuilder("concat", {parts.begin(), parts.end()})
      .result(out, [axis, lengths](OutputGradients g, GradientSink& into) {
        int64_t begin = 0;
        for (size_t i = 0; i < lengths.size(); begin += lengths[i++])
          if (into.wants(static_cast<int>(i)))
            into.add(static_cast<int>(i), positions(g[0], axis, begin, lengths[i]));
      });
}

Variable narrow(const Variable& x, int dim, int64_t begin, int64_t length) {
  int axis = x.shape().axis(dim);
  if (begin < 0 || length < 0 || begin + length > x.size(axis))
    fail("[narrow] positions {} to {} of dimension {} are outside {}", begin, begin + length, axis,
         x.shape().text());
  // Whole rows need no copy: a part of a weight is used where it stands.
  Tensor part =
      axis == 0 ? x.value().rows(begin, length) : positions(x.value(), axis, begin, length);
  return GraphBuilder("narrow", {x})
      .result(part, [axis, begin](OutputGradients g, GradientSink& into) {
        Tensor& sum = into.accumulated(0);
        Around whole = around(sum.shape(), axis), part = around(g[0].shape(), axis);
        for (int64_t o = 0; o < whole.outer; ++o) {
          Real* to = sum.data() + (o * whole.size + begin) * whole.inner;
          const Real* from = g[0].data() + o * part.size * part.inner;
          for (int64_t i = 0; i < part.size * part.inner; ++i) to[i] += from[i];
        }
      });
}

Variable stack(std::span<const Variable> parts, int dim) {
  if (parts.empty()) fail("[stack] nothing to stack");
  const Shape& one = parts[0].shape();
  int axis = dim < 0 ? dim + one.rank() + 1 : dim;
  if (axis < 0 || axis > one.rank())
    fail("[stack] dimension {} does not fit parts of {}", dim, one.text());
  Tensor out(with(one, axis, static_cast<int64_t>(parts.size())));
  Shape slice = with(one, axis, 1);
  for (size_t i = 0; i < parts.size(); ++i) {
    if (parts[i].shape() != one)
      fail("[stack] part {} has shape {}, part 0 {}", i, parts[i].shape().text(), one.text());
    copy_positions(parts[i].value().reshape(slice), 0, out, static_cast<int64_t>(i), 1, axis);
  }
  return GraphBuilder("stack", {parts.begin(), parts.end()})
      .result(out, [axis, one, count = static_cast<int>(parts.size())](OutputGradients g,
                                                                       GradientSink& into) {
        for (int i = 0; i < count; ++i)
          if (into.wants(i)) into.add(i, positions(g[0], axis, i, 1).reshape(one));
      });
}

std::vector<Variable> unbind(const Variable& x, int dim) {
  int axis = x.shape().axis(dim);
  Shape one = without(x.shape(), axis);
  std::vector<Tensor> parts;
  for (int64_t i = 0; i < x.size(axis); ++i)
    parts.push_back(positions(x.value(), axis, i, 1).reshape(one));
  return GraphBuilder("unbind", {x})
      .results(std::move(parts),
               [axis, one, whole = x.shape()](OutputGradients g, GradientSink& into) {
                 Tensor out(whole);
                 Shape slice = with(one, axis, 1);
                 Tensor zeros;
                 for (size_t i = 0; i < g.size(); ++i) {
                   if (!g[i].defined() && !zeros.defined()) zeros = Tensor::zeros(slice);
                   copy_positions(g[i].defined() ? g[i].reshape(slice) : zeros, 0, out,
                                  static_cast<int64_t>(i), 1, axis);
                 }
                 into.add(0, out);
               });
}

Variable choose_rows(std::span<const uint8_t> take, const Variable& yes, const Variable& no) {
  if (yes.shape() != no.shape() || yes.rank() < 1 ||
      yes.size(0) != static_cast<int64_t>(take.size()))
    fail("[choose_rows] {} and {} must be equal, with {} rows, one a flag", yes.shape().text(),
         no.shape().text(), take.size());
  std::vector<uint8_t> flags(take.begin(), take.end());
  int64_t width = yes.size(0) ? yes.count() / yes.size(0) : 0;
  auto copy = [width](const std::vector<uint8_t>& flags, bool which, const Tensor& from,
                      Tensor& to) {
    for (size_t b = 0; b < flags.size(); ++b)
      if ((flags[b] != 0) == which)
        std::copy_n(from.data() + b * width, width, to.data() + b * width);
  };
  Tensor out(yes.shape());
  copy(flags, true, yes.value(), out);
  copy(flags, false, no.value(), out);
  return GraphBuilder("choose_rows", {yes, no})
      .result(out, [flags, copy](OutputGradients g, GradientSink& into) {
        for (int i = 0; i < 2; ++i) {
          if (!into.wants(i)) continue;
          Tensor d = Tensor::zeros(g[0].shape());
          copy(flags, i == 0, g[0], d);
          into.add(i, d);
        }
      });
}

}  // namespace lookback
