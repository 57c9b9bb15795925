#pragma once

#include <algorithm>
#include <vector>

#include "autograd/ops.h"
#include "core/gemm.h"
#include "core/threads.h"

namespace lookback {

// What the two ways of dot_product_attention() share. All matrices are rows of one head, `row`
// elements apart; T == 1 and the like run on vector kernels, all else on gemm().

/// One head's rows in a tensor of either form of Heads.
struct HeadView {
  int64_t offset = 0, batch = 0, head = 0, row = 0;  ///< elements

  int64_t at(int64_t b, int64_t h) const { return offset + b * batch + h * head; }
};
HeadView view(const Heads& heads);

/// The keys and values of one sentence and group, as far as any query may see them.
struct GroupKeys {
  MatrixView keys{}, values{};  ///< (visible, K), (visible, Kv); zero where a hole of the mask is
  int64_t visible = 0;          ///< up to the last key that padding allows
  const uint8_t* holes = nullptr;  ///< the sentence's flags, where they are no plain prefix
  int64_t first = 0;               ///< the first that padding allows
  bool finite = true;              ///< else queries must be taken one by one: 0 x NaN is NaN
  Tensor copied_keys, copied_values;
};

struct AttentionProblem {
  int64_t B, H, G, T, S, K, V;  ///< V: units of a value's head
  Real scale;
  Mask mask;
  double dropout;
  RandomKey key;
  Tensor query, keys, values;  ///< whole tensors
  HeadView q, k, v;
  Shape context_shape;
  HeadView context;                    ///< of a tensor of context_shape
  std::vector<int64_t> key_rows = {};  ///< as DotProductOptions

  int64_t group() const { return H / G; }  ///< query heads that share keys
  /// The rows of head h of sentence b, from row t on.
  MatrixView queries(int64_t b, int64_t h, int64_t t, int64_t rows) const {
    return {query.data() + q.at(b, h) + t * q.row, rows, K, q.row};
  }
  MutableMatrix context_rows(Tensor& x, int64_t b, int64_t h, int64_t t, int64_t rows) const {
    return {x.data() + context.at(b, h) + t * context.row, rows, V, context.row};
  }
  MatrixView context_rows(const Tensor& x, int64_t b, int64_t h, int64_t t, int64_t rows) const {
    return {x.data() + context.at(b, h) + t * context.row, rows, V, context.row};
  }
  /// The row of keys, values and mask that sentence b asks.
  int64_t key_row(int64_t b) const {
    return key_rows.empty() ? b : key_rows[static_cast<size_t>(b)];
  }
  GroupKeys group_keys(int64_t b, int64_t g) const;
  /// The same for backward, whose products sum over queries too.
  GroupKeys group_keys(int64_t b, int64_t g, const Tensor& of_context) const;
  /// Queries from t on that may be worked on together, at most `most`, and how many keys the last
  /// of them sees.
  struct Block {
    int64_t rows, keys;
  };
  Block block(const GroupKeys& group, int64_t t, int64_t most) const;
  /// Keys that query t may see, holes not counted: [0, n).
  int64_t seen(const GroupKeys& group, int64_t t) const {
    return std::min(group.visible, mask.visible(t, T, S));
  }
  bool sees_any(const GroupKeys& group, int64_t t) const { return seen(group, t) > group.first; }
  /// The draws of one query's dropout, key after key.
  Random draws(int64_t b, int64_t h, int64_t t) const;
  /// Items of work that make a thread's while, each of `rows` queries against all keys.
  int64_t grain(int64_t rows) const;
};

/// Gradients to be added into; null where none is wanted. `context` as the result, `weights`
/// (B, H, T, S) or undefined.
struct AttentionGradients {
  Tensor of_context, of_weights;
  Real *query = nullptr, *keys = nullptr, *values = nullptr;
  Real* scores =
      nullptr;  ///< (B, H, T, S): where the scores' own gradient is left; materialised alone

  /// Groups of a sentence that must run one after another: all, where the three are one tensor and
  /// heads of different groups stand in each other's columns.
  int64_t groups_together(const AttentionProblem& p) const;
};

/// Runs body(begin, end) over pieces of [0, count) of `piece` items each. As it is parallel_tasks()
/// that runs them, a product inside is never split, whatever the number of threads: same bits.
template <class Body>
void over_pieces(int64_t count, int64_t piece, Body&& body) {
  parallel_tasks((count + piece - 1) / piece,
                 [&](int64_t i) { body(i * piece, std::min(count, (i + 1) * piece)); });
}

/// Forward: fills `context`, and `weights` (B, H, T, S) where it is defined.
void materialised_forward(const AttentionProblem& p, Tensor& context, Tensor& weights);
void materialised_backward(const AttentionProblem& p, const Tensor& weights,
                           const AttentionGradients& g);
/// Forward: fills `context`, `log_sums` (B, H, T): log sum_s e^(score), -infinity where nothing may
/// be seen; and `weights` where it is defined.
void blockwise_forward(const AttentionProblem& p, Tensor& context, Tensor& log_sums,
                       Tensor& weights);
void blockwise_backward(const AttentionProblem& p, const Tensor& context, const Tensor& log_sums,
                        const Tensor& weights, const AttentionGradients& g);

/// A group's keys or values, (visible, K), or their transpose, as all blocks of queries multiply by them:
/// laid out once where there are several. (Single queries run on vector kernels, which take rows as they
/// lie.)
class GroupMatrix {
 public:
  GroupMatrix() = default;
  GroupMatrix(const MatrixView& rows, bool transpose, bool several);

  /// C (+)= A times rows [first, first + A's columns), or C = A times the transpose of rows [first, first +
  /// C's columns); then `first` is a multiple of kPanelWidth.
  void multiply(const MatrixView& a, int64_t first, const MutableMatrix& c,
                bool accumulate = false) const;

 private:
  MatrixView rows_{};
  bool transpose_ = false;
  PackedMatrix packed_;
};

/// A group's keys and values as forward multiplies by them; `several` blocks of queries.
struct ForwardGroup {
  GroupKeys group;
  GroupMatrix keys, values;

  ForwardGroup() = default;
  ForwardGroup(const AttentionProblem& p, int64_t b, int64_t g, bool several);
};

/// C += A^T B; a single row of A on vector kernels.
void add_transposed_product(const MatrixView& a, const MatrixView& b, const MutableMatrix& c);

/// 0 at the holes of the mask, keys [first, first + count) in `row`.
void clear_holes(const GroupKeys& group, int64_t first, int64_t count, Real* row);

/// Adds what reaches the weights of one query, keys [first, first + count) in `row`; and the sum over
/// keys [0, count) of that times the weight. What falls on a hole of the mask is not read.
void add_weight_gradient(const GroupKeys& group, const Real* of_weights, int64_t first,
                         int64_t count, Real* row);
Real weight_gradient_sum(const GroupKeys& group, const Real* of_weights, const Real* weights,
                         int64_t count);

/// Multiplies each weight by 0 or 1 / (1 - p), in place, as `random` draws.
void drop_row(double p, Random& random, Real* row, int64_t count);
/// The same for what reaches them, by the weights that came out. (Of a weight of 0 one cannot tell, but
/// nothing passes through it.)
void drop_alike(double p, const Real* dropped, Real* row, int64_t count);

}  // namespace lookback
