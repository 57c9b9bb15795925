#include "nn/multi_head_attention.h"

#include <cmath>

#include "core/error.h"

namespace lookback {
namespace {

MultiHeadAttention::Options resolved(MultiHeadAttention::Options o) {
  if (o.memory < 0) o.memory = o.width;
  if (o.key_value_heads < 0) o.key_value_heads = o.heads;
  if (o.width < 1 || o.heads < 1 || o.width % o.heads != 0)
    fail("[multi_head_attention] width {} is not a multiple of heads {}", o.width, o.heads);
  if (o.key_value_heads < 1 || o.heads % o.key_value_heads != 0)
    fail("[multi_head_attention] heads {} is not a multiple of key_value_heads {}", o.heads,
         o.key_value_heads);
  return o;
}

}  // namespace

MultiHeadAttention::MultiHeadAttention(const Options& options)
    : options_(resolved(options)), size_(options_.width / options_.heads) {
  const Options& o = options_;
  int64_t pairs = o.key_value_heads * size_;
  auto glorot = [](int64_t rows, int64_t columns) {  // Glorot and Bengio, 2010
    return uniform(std::sqrt(6.0 / static_cast<double>(rows + columns)));
  };
  if (o.memory == o.width) {
    int64_t rows = o.width + 2 * pairs;
    in_weight_ = parameter("in_proj_weight", {rows, o.width}, glorot(rows, o.width));
  } else {
    q_weight_ = parameter("q_proj_weight", {o.width, o.width}, glorot(o.width, o.width));
    k_weight_ = parameter("k_proj_weight", {pairs, o.memory}, glorot(pairs, o.memory));
    v_weight_ = parameter("v_proj_weight", {pairs, o.memory}, glorot(pairs, o.memory));
  }
  if (o.bias) in_bias_ = parameter("in_proj_bias", {o.width + 2 * pairs}, constant(0));
  // As torch draws it: a linear layer's weight, but a bias of 0.
  out_weight_ = parameter("out_proj.weight", {o.width, o.width},
                          uniform(1 / std::sqrt(static_cast<double>(o.width))));
  if (o.bias) out_bias_ = parameter("out_proj.bias", {o.width}, constant(0));
}

/// Rows [begin, begin + rows) of the joint projection.
Variable MultiHeadAttention::project(const Variable& x, int64_t begin, int64_t rows) const {
  if (begin == 0 && rows == in_weight_.size(0)) return linear(x, in_weight_, in_bias_);
  return linear(x, narrow(in_weight_, 0, begin, rows), bias_rows(begin, rows));
}

Attended MultiHeadAttention::attend(const Variable& query, int64_t query_column,
                                    const Variable& memory, int64_t key_column,
                                    const Call& call) const {
  int64_t pairs = options_.key_value_heads;
  RandomKey key = call.pass.key;
  key.purpose = purpose("dropout." + options_.site);
  Attended out = dot_product_attention(heads(query, options_.heads, size_, query_column),
                                       heads(memory, pairs, size_, key_column),
                                       heads(memory, pairs, size_, key_column + pairs * size_),
                                       {.mask = call.mask,
                                        .way = options_.way,
                                        .weights = call.weights,
                                        .dropout = call.pass.training ? options_.dropout : 0,
                                        .key = key,
                                        .key_rows = call.memory_rows});
  return {linear(out.context, out_weight_, out_bias_), out.weights};
}

void MultiHeadAttention::check_self() const {
  if (!in_weight_.defined())
    fail(
        "[multi_head_attention] self-attention needs a memory as wide as the queries, not {} and {}",
        options_.memory, options_.width);
}

/// Of the joint bias, which may be none.
Variable MultiHeadAttention::bias_rows(int64_t begin, int64_t rows) const {
  return in_bias_.defined() ? narrow(in_bias_, 0, begin, rows) : Variable();
}

Attended MultiHeadAttention::self(const Variable& x, const Call& call) const {
  check_self();
  Variable all = project(x, 0, in_weight_.size(0));
  return attend(all, 0, all, options_.width, call);
}

Variable MultiHeadAttention::prepare(const Variable& memory) const {
  if (in_weight_.defined()) return project(memory, options_.width, cache_width());
  std::vector<Variable> weights{k_weight_, v_weight_};
  return linear(memory, concat(weights, 0), bias_rows(options_.width, cache_width()));
}

Attended MultiHeadAttention::cross(const Variable& x, const Variable& prepared,
                                   const Call& call) const {
  Variable query = in_weight_.defined() ? project(x, 0, options_.width)
                                        : linear(x, q_weight_, bias_rows(0, options_.width));
  return attend(query, 0, prepared, 0, call);
}

Variable MultiHeadAttention::next(const Variable& x, Variable& cache) const {
  check_self();
  Variable all = project(x, 0, in_weight_.size(0));
  cache = concat(std::vector<Variable>{cache, narrow(all, 2, options_.width, cache_width())}, 1);
  return attend(all, 0, cache, 0, {}).context;
}

Variable MultiHeadAttention::next(const Variable& x, Past& past, int64_t layer) const {
  check_self();
  Variable all = project(x, 0, in_weight_.size(0)).detach();
  past.append(
      layer,
      narrow(all, 2, options_.width, cache_width()).value().reshape({x.size(0), cache_width()}));
  Variable context =
      past.attend(layer, heads(all, options_.heads, size_), options_.key_value_heads);
  return linear(context, out_weight_, out_bias_);
}

}  // namespace lookback
