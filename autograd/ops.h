#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "autograd/variable.h"
#include "core/ids.h"
#include "core/mask.h"
#include "core/random.h"

namespace lookback {

// Every op, in one place. Each is one function with its backward beside it, in autograd/ops/.
// Shapes in docstrings name the dimensions; `...` stands for any leading ones. B sentences, S or T
// positions, D units, V words.

// --- arithmetic.cpp: element by element, broadcasting as NumPy does
Variable add(const Variable& a, const Variable& b);
Variable subtract(const Variable& a, const Variable& b);
Variable multiply(const Variable& a, const Variable& b);
/// factor * a
Variable scale(const Variable& a, Real factor);
inline Variable operator+(const Variable& a, const Variable& b) {
  return add(a, b);
}
inline Variable operator-(const Variable& a, const Variable& b) {
  return subtract(a, b);
}
inline Variable operator*(const Variable& a, const Variable& b) {
  return multiply(a, b);
}

// --- activations.cpp
Variable tanh(const Variable& x);
Variable sigmoid(const Variable& x);  ///< 1 / (1 + e^-x)
Variable relu(const Variable& x);     ///< max(x, 0); slope 0 at 0
Variable gelu(
    const Variable& x);  ///< x/2 (1 + erf(x / sqrt 2)), exact (Hendrycks and Gimpel, 2016)
Variable exp(const Variable& x);
Variable log(const Variable& x);

// --- linear.cpp
/// (..., M, K) x (..., K, N) -> (..., M, N), leading dimensions equal; or (..., K) x (K, N) ->
/// (..., N).
Variable matmul(const Variable& a, const Variable& b);
/// y = x W^T + b: (..., I), (O, I), (O) -> (..., O). An undefined bias is none.
Variable linear(const Variable& x, const Variable& weight, const Variable& bias = {});
/// y = base + x W^T: (..., I), (O, I), (..., O) -> (..., O), without a tensor for the product
/// alone.
Variable linear_add(const Variable& x, const Variable& weight, const Variable& base);

/// A weight (O, I) that the steps of a loop multiply by. It is laid out for their products once, and not by
/// every one of them anew; without a loop it brings nothing. The weight must not change meanwhile.
class SharedWeight {
 public:
  SharedWeight() = default;
  explicit SharedWeight(const Variable& weight);

  bool defined() const { return weight_.defined(); }
  const Variable& weight() const { return weight_; }

  struct Layouts;
  const std::shared_ptr<const Layouts>& layouts() const { return layouts_; }

 private:
  Variable weight_;
  std::shared_ptr<const Layouts> layouts_;
};
Variable linear(const Variable& x, const SharedWeight& weight, const Variable& bias = {});

/// While one lives and no history is recorded, linear() on this thread lays each of these weights, or
/// whole rows of one, out once for all its products, as a SharedWeight is: for a loop of many steps through
/// modules that know of no loop. The weights must not change meanwhile.
class KeptLayouts {
 public:
  explicit KeptLayouts(std::vector<Tensor> weights);
  ~KeptLayouts();
  KeptLayouts(const KeptLayouts&) = delete;
  KeptLayouts& operator=(const KeptLayouts&) = delete;

  /// Null where the weight is none of them.
  const SharedWeight* of(const Variable& weight);
  static KeptLayouts* current();

 private:
  std::vector<Tensor> weights_;
  std::vector<SharedWeight> layouts_;
  KeptLayouts* before_;
};
Variable linear_add(const Variable& x, const SharedWeight& weight, const Variable& base);

// --- shapes.cpp
Variable reshape(const Variable& x, const Shape& shape);
/// Swaps two dimensions.
Variable transpose(const Variable& x, int first, int second);
/// Joins along an existing dimension.
Variable concat(std::span<const Variable> parts, int dim);
/// Positions [begin, begin + length) of a dimension.
Variable narrow(const Variable& x, int dim, int64_t begin, int64_t length);
/// T tensors of (B, D) -> (B, T, D) along a new dimension.
Variable stack(std::span<const Variable> parts, int dim);
/// The reverse of stack: (B, T, D) -> T tensors of (B, D).
std::vector<Variable> unbind(const Variable& x, int dim);
/// Row b of the result is row b of `yes` where take[b] is true, else of `no`: (B, ...), B flags.
Variable choose_rows(std::span<const uint8_t> take, const Variable& yes, const Variable& no);

// --- reduce.cpp
Variable sum(const Variable& x);   ///< of all elements, a scalar
Variable mean(const Variable& x);  ///< of all elements, a scalar

// --- softmax.cpp
/// Along the last dimension: y_j = e^(x_j) / sum_k e^(x_k). With a mask, (B, S) scores get weight
/// exactly 0 where it is false, and a row that allows nothing gives zeros with zero gradient.
Variable softmax(const Variable& x, const Mask& mask = {});
/// x_j - log sum_k e^(x_k) along the last dimension.
Variable log_softmax(const Variable& x);

// --- layer_norm.cpp
/// Along the last dimension (Ba et al., 2016), with the biased variance:
///     y = (x - mean) / sqrt(variance + eps) weight + bias
/// weight and bias (D), each may be undefined.
Variable layer_norm(const Variable& x, const Variable& weight, const Variable& bias, double eps);

// --- embedding.cpp
/// Rows of a table by id: (V, E), ids (B, S) -> (B, S, E). An id outside the table is an error.
Variable embedding(const Variable& weight, const IdMatrix& ids);
/// The same; where many ids repeat, gathered from the rows that do occur, for layers that know what to do
/// with that.
Variable embedding_by_word(const Variable& weight, const IdMatrix& ids);

/// Row i is row index[i] of `table` (U, E). The same map of all rows need only be worked out for the
/// table's: linear() and recurrent_sequence() multiply the word vectors of a batch once a word, and not
/// once a place where it stands. A result of any other op no longer knows it.
struct Gathered {
  Variable table;
  std::vector<Id> index;
};
/// As many rows as there are indices, in a tensor of this shape.
Variable gather(std::shared_ptr<const Gathered> rows, const Shape& shape);

// --- dropout.cpp
/// Each element is 0 with probability p, else x / (1 - p) (Srivastava et al., 2014). Row b of the
/// first dimension draws from its own stream of `key` (index b added), so the draw does not depend
/// on threads.
Variable dropout(const Variable& x, double p, const RandomKey& key);

// --- cross_entropy.cpp
struct CrossEntropyOptions {
  Id ignore = 0;         ///< targets of this id (padding) count for nothing
  double divide_by = 1;  ///< the sum over tokens is divided by this
  double label_smoothing =
      0;  ///< share e of the target spread over all V words (Szegedy et al., 2016)
};
/// -sum_t [(1 - e) log p(target_t) + e / V sum_v log p(v)] / divide_by, log p =
/// log_softmax(logits): logits (B, T, V), targets (B, T) -> a scalar. Softmax is computed again in
/// backward rather than kept.
Variable cross_entropy(const Variable& logits, const IdMatrix& targets,
                       const CrossEntropyOptions& options = {});

// --- linear_cross_entropy.cpp
/// Logits x W^T + bias + base as what they are made of, not worked out yet.
struct LinearLogits {
  Variable x;       ///< (..., F)
  Variable weight;  ///< (V, F)
  Variable bias;    ///< (V); undefined: none
  /// With x (B, T, F): a row for each sentence, (B, V), added to all its T rows; undefined: none.
  Variable base;
};
struct TokenLoss {
  Variable loss;
  Variable nll;  ///< the same without label smoothing; a constant
};
/// cross_entropy of such logits, targets as many as x has rows, without ever holding the logits of
/// all rows: a block of rows at a time is worked out, compared with its targets, turned in place
/// into the gradient of its logits and multiplied on to those of x, W, bias and base. So where a
/// gradient is wanted, forward does all of the work and holds the result; backward scales it, and
/// hands it on as it is for an upstream gradient of 1.
TokenLoss linear_cross_entropy(const LinearLogits& logits, const IdMatrix& targets,
                               const CrossEntropyOptions& options = {});

// --- cells.cpp: the pointwise half of a recurrent cell, from the two shares of its gates,
// x = W_ih x_t + b_ih and h = W_hh h_(t-1) + b_hh
/// Vanilla: tanh(x + h), each (B, D).
Variable rnn_gates(const Variable& x, const Variable& h);
/// GRU (Cho et al., 2014, in PyTorch's form): x, h (B, 3D) in order r, z, n; previous (B, D) -> (B, D).
///     r = sigmoid(x_r + h_r)
///     z = sigmoid(x_z + h_z)
///     n = tanh(x_n + r * h_n)
///     h' = (1 - z) n + z previous
Variable gru_gates(const Variable& x, const Variable& h, const Variable& previous);
struct LstmState {
  Variable hidden, cell;
};
/// LSTM (Hochreiter and Schmidhuber, 1997, with forget gate): x, h (B, 4D) in order i, f, g, o;
/// previous_cell (B, D).
///     c' = f c + i g
///     h' = o tanh(c')
LstmState lstm_gates(const Variable& x, const Variable& h, const Variable& previous_cell);

// --- recurrent_sequence.cpp
enum class CellKind { kRnn, kGru, kLstm };
/// Blocks of D gates that a cell has: 1, 3 or 4.
int64_t gate_count(CellKind cell);
struct SequenceInput {
  CellKind cell = CellKind::kGru;
  Variable x;                     ///< (B, S, E)
  Variable weight_ih, weight_hh;  ///< (G, E), (G, D); G = D, 3D or 4D as in PyTorch
  Variable bias_ih, bias_hh;      ///< (G)
  Variable hidden, cell_state;  ///< (B, D) to start from; undefined is zero. cell_state: LSTM alone
  Lengths lengths;              ///< (B)
  bool reverse = false;         ///< from each sentence's own last token to its first
};
struct SequenceOutput {
  Variable states;     ///< (B, S, D), zero at padded positions
  Variable last;       ///< (B, D), the state after each sentence's own last step
  Variable last_cell;  ///< (B, D) for an LSTM, else undefined
};
/// A whole recurrent layer over sentences of different lengths, as one op. The sentences are packed
/// by length, so padding costs nothing and changes nothing: the input product of all positions is
/// one GEMM, each step multiplies only the sentences that still run, and the weight gradients of
/// all steps are one GEMM each. Equal to stepping the cell by cell ops, which tests hold it to.
SequenceOutput recurrent_sequence(const SequenceInput& in);

// --- dot_product_attention.cpp
/// Where the heads of attention stand in a tensor. K numbers a head.
struct Heads {
  Variable x;
  int64_t count = 1;   ///< heads
  int64_t size = 0;    ///< K
  int64_t column = 0;  ///< in (B, S, W): head i is columns [column + i K, column + (i + 1) K)
};
Heads heads(const Variable& x);  ///< x (B, heads, S, K)
/// Side by side in the columns of x (B, S, W), as a projection leaves them: no copy is needed, and
/// queries, keys and values may share one tensor.
Heads heads(const Variable& x, int64_t count, int64_t size, int64_t column = 0);

struct Attended {
  Variable context;  ///< the weighted sum of the values
  Variable weights;  ///< over the keys, exactly 0 where masked
};
/// How scores are held: all of them, (B, H, T, S), or block by block and worked out again in
/// backward, so that memory grows with the length and not with its square (Rabe and Staats, 2021;
/// Dao et al., 2022). The results are equal.
enum class AttentionWay { kAuto, kMaterialised, kBlockwise };
struct DotProductOptions {
  std::optional<double> scale = {};  ///< of the scores; not given: 1 / sqrt(K)
  Mask mask = {};
  AttentionWay way = AttentionWay::kAuto;  ///< auto: by size
  bool weights = false;                    ///< also return the weights; the context stays the same
  double dropout = 0;                      ///< on the weights, in the context alone
  RandomKey key = {};                      ///< of the dropout; index = number of the first sentence
  /// Row b asks the keys, values and mask of row key_rows[b], so that several may ask the same; empty:
  /// those of row b. Without history alone.
  std::span<const int64_t> key_rows = {};
};
/// Scaled dot-product attention (Vaswani et al., 2017; the tutorial's definition 2.4.4), each head
/// alone:
///     P = softmax(scale Q K^T)   context = P V
/// Q (B, H, T, K), K (B, G, S, K), V (B, G, S, Kv), each in either form of Heads; G divides H, and
/// head h reads the keys and values of head h / (H / G) (Ainslie et al., 2023). Context
/// (B, H, T, Kv), or (B, T, H Kv) where the query stands in columns; weights (B, H, T, S). A query
/// that may see nothing gets zeros, and gives no gradient. Keys and values that no query may see are
/// never read into a result, whatever they hold.
Attended dot_product_attention(const Heads& query, const Heads& key, const Heads& value,
                               const DotProductOptions& options = {});

// --- additive_attention.cpp
/// e^(2k) of projected keys (B, S, A), from which tanh(q + k) = 1 - 2 / (1 + e^(2q) e^(2k)) is had without
/// another exponential. A sentence with a key so large (above 40) that digits would be lost does without.
struct KeyExponentials {
  Tensor values;                ///< (B, S, A)
  std::vector<uint8_t> usable;  ///< (B)

  KeyExponentials() = default;
  explicit KeyExponentials(const Variable& keys);
};
/// Bahdanau et al., 2015:
///     e_j = v . tanh(q + k_j)   a = softmax(e)   context = sum_j a_j h_j
/// for one query a sentence, (B, A) -> context (B, D), weights (B, S), or many, (B, T, A) ->
/// (B, T, D), (B, T, S). Query and keys (B, S, A) are projected already, v (A), values h (B, S, D).
/// The tensor of tanh, A numbers for each query and key, is never kept: forward needs it key by key,
/// and backward computes it again. A causal mask is refused.
///
/// `exponentials`, of the same keys, make it cheaper where many queries come one by one.
Attended additive_attention(const Variable& query, const Variable& keys, const Variable& v,
                            const Variable& values, const Mask& mask,
                            const KeyExponentials& exponentials = {});

}  // namespace lookback
