#include <algorithm>
#include <cmath>

#include "autograd/broadcast.h"
#include "autograd/node.h"
#include "autograd/ops.h"
#include "autograd/ops/target_rows.h"
#include "core/error.h"
#include "core/gemm.h"
#include "core/kernels/softmax.h"
#include "core/threads.h"

namespace lookback {
namespace {

/// The most that the logits of a block may take: they are to stay in the cache from the product that
/// makes them to those that read their gradient.
constexpr int64_t kBlockBytes = 8 << 20;

/// Rows of a block: blocks of about one size, in multiples of 16 (which suit the products and keep
/// their shapes few) but where so many words are there that fewer rows fit. Of sizes alone, so that no bit depends on the threads.
int64_t block_rows(int64_t rows, int64_t words) {
  int64_t row_bytes = std::max<int64_t>(words, 1) * static_cast<int64_t>(sizeof(Real));
  int64_t most = std::max<int64_t>(1, kBlockBytes / row_bytes);
  if (most > 16) most = most / 16 * 16;
  int64_t blocks = std::max<int64_t>(1, (rows + most - 1) / most);
  int64_t even = (rows + blocks - 1) / blocks;
  return std::min(most, (even + 15) / 16 * 16);
}

void check(const LinearLogits& in, const IdMatrix& targets) {
  const char* op = "linear_cross_entropy";
  if (in.x.rank() < 1 || in.weight.rank() != 2 || in.x.size(-1) != in.weight.size(1))
    fail("[{}] x {} does not fit weight {} of (words, features)", op, in.x.shape().text(),
         in.weight.shape().text());
  int64_t words = in.weight.size(0);
  if (in.bias.defined() && in.bias.shape() != Shape{words})
    fail("[{}] bias {} must be ({}), one for each row of weight {}", op, in.bias.shape().text(),
         words, in.weight.shape().text());
  if (in.base.defined() && (in.x.rank() < 2 || in.base.shape() != Shape{in.x.size(0), words}))
    fail("[{}] base {} must be ({}, {}), one row for each sentence of x {}", op,
         in.base.shape().text(), in.x.rank() < 2 ? 1 : in.x.size(0), words, in.x.shape().text());
  check_targets(op, "features", in.x.shape(), targets, words);
}

double sum_of(const Real* x, int64_t count) {
  double lanes[8] = {};  // side by side, for one after the other would wait for each addition
  int64_t i = 0;
  for (; i + 8 <= count; i += 8)
    for (int64_t j = 0; j < 8; ++j) lanes[j] += x[i + j];
  for (; i < count; ++i) lanes[0] += x[i];
  return ((lanes[0] + lanes[1]) + (lanes[2] + lanes[3])) +
         ((lanes[4] + lanes[5]) + (lanes[6] + lanes[7]));
}

/// What a row adds to the two results.
struct RowLoss {
  double loss = 0, nll = 0;
};

/// d loss / d input for an upstream gradient of 1; undefined where none is wanted.
struct InputGradients {
  Tensor x, weight, bias, base;
};

/// The rows of a batch, from their features to their losses and gradients, a block at a time.
class Blocks {
 public:
  Blocks(const LinearLogits& in, const IdMatrix& targets, const CrossEntropyOptions& options)
      : x_(in.x.value()),
        weight_(in.weight.value()),
        bias_(in.bias.defined() ? in.bias.value() : Tensor()),
        base_(in.base.defined() ? in.base.value() : Tensor()),
        targets_(targets),
        options_(options),
        rows_(x_.shape().rows()),
        features_(x_.shape().columns()),
        words_(weight_.size(0)),
        sentence_rows_(base_.defined() && base_.size(0) > 0 ? rows_ / base_.size(0) : rows_),
        most_(block_rows(rows_, words_)),
        losses_(static_cast<size_t>(rows_)) {}

  /// `d` gets the gradients that it has tensors for; without it (`nullptr`) there are only losses.
  RowLoss run(InputGradients* d) {
    if (d) clear(*d);
    block_ = Tensor({std::min(most_, rows_), words_});
    forward_ = PackedMatrix(transposed(weight()));
    if (d && d->x.defined()) backward_ = PackedMatrix(weight());
    for (begin_ = 0; begin_ < rows_; begin_ += most_) {
      count_ = std::min(most_, rows_ - begin_);
      logits();
      over_rows(d != nullptr);
      if (d) add_gradients(*d);
    }
    RowLoss sum;
    for (const RowLoss& row : losses_) {
      sum.loss += row.loss;
      sum.nll += row.nll;
    }
    return {sum.loss / options_.divide_by, sum.nll / options_.divide_by};
  }

 private:
  MatrixView weight() const { return matrix(weight_.data(), words_, features_); }

  MatrixView features() const { return matrix(x_.data() + begin_ * features_, count_, features_); }

  /// What is added to from the first block on; the rest is written by products.
  void clear(InputGradients& d) const {
    if (d.weight.defined() && rows_ == 0) d.weight.fill(0);
    for (Tensor* sums : {&d.bias, &d.base})
      if (sums->defined()) sums->fill(0);
  }

  void logits() {
    gemm(features(), forward_, mutable_matrix(block_.data(), count_, words_),
         {.bias = bias_.defined() ? bias_.data() : nullptr});
  }

  /// Logits become, where `gradient`, what the products of backward read.
  void over_rows(bool gradient) {
    parallel_for(count_, row_grain(words_), [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        Real* row = block_.data() + i * words_;
        size_t at = static_cast<size_t>(begin_ + i);
        if (targets_.values[at] != options_.ignore)
          losses_[at] = one_row(row, targets_.values[at], begin_ + i, gradient);
        else if (gradient)
          std::fill_n(row, words_, Real{0});
      }
    });
  }

  RowLoss one_row(Real* row, Id target, int64_t number, bool gradient) const {
    if (base_.defined()) {
      const Real* base = base_.data() + number / sentence_rows_ * words_;
      for (int64_t v = 0; v < words_; ++v) row[v] += base[v];
    }
    double smoothing = options_.label_smoothing, of_target = row[target];
    double mean = smoothing > 0 ? sum_of(row, words_) / static_cast<double>(words_) : 0;
    Real largest = kernels::largest(row, words_);
    Real sum = kernels::exp_sum(row, 1, largest, row, words_);  // the row now holds e^(x - largest)
    double log_sum = double{largest} + std::log(double{sum});
    RowLoss out{.loss = log_sum - of_target, .nll = log_sum - of_target};
    if (smoothing > 0) out.loss = (1 - smoothing) * out.nll + smoothing * (log_sum - mean);
    if (!gradient) return out;
    // d/d logit_v = (p_v - (1 - e) [v = target] - e / V) / divide_by
    double factor = 1 / options_.divide_by;
    Real scale = static_cast<Real>(factor / double{sum});
    Real spread = static_cast<Real>(factor * smoothing / static_cast<double>(words_));
    for (int64_t v = 0; v < words_; ++v) row[v] = row[v] * scale - spread;
    row[target] -= static_cast<Real>(factor * (1 - smoothing));
    return out;
  }

  /// From the gradient of the block's logits, g: dx = g W   dW += g^T x   and sums of its rows.
  void add_gradients(InputGradients& d) const {
    MatrixView g = matrix(block_.data(), count_, words_);
    if (d.x.defined())
      gemm(g, backward_, mutable_matrix(d.x.data() + begin_ * features_, count_, features_));
    if (d.weight.defined())
      gemm(transposed(g), features(), mutable_matrix(d.weight.data(), words_, features_),
           {.accumulate = begin_ > 0});
    if (d.bias.defined()) add_column_sums(block_.data(), count_, words_, d.bias.data());
    if (!d.base.defined()) return;
    for (int64_t row = begin_; row < begin_ + count_;) {
      int64_t sentence = row / sentence_rows_;
      int64_t end = std::min((sentence + 1) * sentence_rows_, begin_ + count_);
      add_column_sums(block_.data() + (row - begin_) * words_, end - row, words_,
                      d.base.data() + sentence * words_);
      row = end;
    }
  }

  Tensor x_, weight_, bias_, base_;
  const IdMatrix& targets_;
  CrossEntropyOptions options_;
  int64_t rows_, features_, words_;
  int64_t sentence_rows_;  // that share a row of base
  int64_t most_;           // rows of a block
  std::vector<RowLoss> losses_;
  int64_t begin_ = 0, count_ = 0;    // of the block at hand
  Tensor block_;                     // its logits, then their gradient
  PackedMatrix forward_, backward_;  // W^T and W as the products of all blocks read them
};

/// factor * x; x itself where that is the same.
Tensor times(const Tensor& x, Real factor) {
  if (factor == 1) return x;
  Tensor out(x.shape());
  parallel_for(out.count(), 1 << 15, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) out.data()[i] = x.data()[i] * factor;
  });
  return out;
}

}  // namespace

TokenLoss linear_cross_entropy(const LinearLogits& in, const IdMatrix& targets,
                               const CrossEntropyOptions& options) {
  check(in, targets);
  std::vector<Variable> inputs;
  std::vector<Tensor> gradients;
  InputGradients d;
  for (auto [input, gradient] : {std::pair(&in.x, &d.x), std::pair(&in.weight, &d.weight),
                                 std::pair(&in.bias, &d.bias), std::pair(&in.base, &d.base)})
    if (input->defined()) {
      inputs.push_back(*input);
      if (recording() && input->requires_grad()) *gradient = Tensor(input->shape());
      gradients.push_back(*gradient);
    }
  GraphBuilder builder("linear_cross_entropy", inputs);
  RowLoss sum = Blocks(in, targets, options).run(builder.records() ? &d : nullptr);
  Variable loss =
      builder.result(Tensor::scalar(static_cast<Real>(sum.loss)),
                     [gradients = std::move(gradients)](OutputGradients g, GradientSink& into) {
                       for (size_t i = 0; i < gradients.size(); ++i)
                         if (into.wants(static_cast<int>(i)))
                           into.add(static_cast<int>(i), times(gradients[i], g[0].item()));
                     });
  return {loss, Tensor::scalar(static_cast<Real>(sum.nll))};
}

}  // namespace lookback
