#include <algorithm>
#include <cmath>

#include "autograd/ops.h"
#include "core/products.h"
#include "study/labs/built_in.h"
#include "study/labs/samples.h"

namespace lookback {
namespace {

constexpr int64_t kBatch = 3, kLength = 12, kUnits = 16;

struct Inputs {
  Variable query, keys, values;  ///< (B, T, K)
};

struct Mean {
  double low = INFINITY, off = 0;  ///< smallest sum, largest |sum - 1|
};

Mean row_sums(const Tensor& weights) {
  Mean out;
  for (int64_t r = 0; r < weights.shape().rows(); ++r) {
    double sum = 0;
    for (int64_t s = 0; s < kLength; ++s) sum += weights.data()[r * kLength + s];
    out.low = smaller(out.low, sum);
    out.off = larger(out.off, std::abs(sum - 1));
  }
  return out;
}

/// The largest weight of a key that comes after its query.
double future_weight(const Tensor& weights) {
  double largest = 0;
  for (int64_t r = 0; r < weights.shape().rows(); ++r)
    for (int64_t s = r % kLength + 1; s < kLength; ++s) {
      double weight = weights.data()[r * kLength + s];
      largest = larger(largest, weight);
    }
  return largest;
}

/// (B, T, T): 1 where a key comes no later than its query, else 0.
Variable past() {
  Tensor out = Tensor::zeros({kBatch, kLength, kLength});
  for (int64_t r = 0; r < kBatch * kLength; ++r)
    std::fill_n(out.data() + r * kLength, r % kLength + 1, Real{1});
  return out;
}

Attended attend(const Inputs& in, const Mask& mask) {
  Attended out =
      dot_product_attention(heads(in.query, 1, kUnits), heads(in.keys, 1, kUnits),
                            heads(in.values, 1, kUnits), {.mask = mask, .weights = true});
  return {out.context, reshape(out.weights, {kBatch, kLength, kLength})};
}

/// Attention whose future scores are 0 instead of minus infinity, by the library's ops.
Attended attend_with_zeros(const Inputs& in, bool bf16) {
  Real factor = static_cast<Real>(1 / std::sqrt(static_cast<double>(kUnits)));
  Variable scores = scale(matmul(in.query, transpose(in.keys, 1, 2)), factor) * past();
  if (bf16) scores = rounded_to_bf16(scores.value());
  Variable weights = softmax(scores);
  return {matmul(weights, in.values), weights};
}

/// What changes in the outputs before the last, once the last key and value are others.
double change_before_last(const Tensor& a, const Tensor& b) {
  double largest = 0;
  for (int64_t i = 0; i < a.count(); ++i)
    if (i / kUnits % kLength != kLength - 1) {
      double change = std::abs(static_cast<double>(a.data()[i]) - b.data()[i]);
      largest = larger(largest, change);
    }
  return largest;
}

Inputs with_other_last(const Inputs& in) {
  auto changed = [](const Variable& x) {
    Tensor out = x.value().clone();
    for (int64_t b = 0; b < kBatch; ++b)
      for (int64_t k = 0; k < kUnits; ++k)
        out.data()[(b * kLength + kLength - 1) * kUnits + k] += 3;
    return Variable(out);
  };
  return {in.query, changed(in.keys), changed(in.values)};
}

/// The second sentence allows no key at all.
void hide_all(const Inputs& in, uint64_t seed, MaskMeasured::Part& out) {
  Mask mask = Mask::from_lengths({kLength, 0, kLength / 2}, kLength);
  Inputs leaves{Variable(in.query.value(), true), Variable(in.keys.value(), true),
                Variable(in.values.value(), true)};
  Variable context = attend(leaves, mask).context;
  out.hidden_output = largest_size(context.value().rows(1, 1));
  Gradients gradients = backward(context, normals(context.shape(), seed, "arriving"));
  out.hidden_finite = all_finite(context.value());
  for (const Variable& leaf : {leaves.query, leaves.keys, leaves.values}) {
    Tensor gradient = gradients.of(leaf);
    out.hidden_finite = out.hidden_finite && all_finite(gradient);
    double largest = largest_size(gradient.rows(1, 1));
    out.hidden_gradient = larger(out.hidden_gradient, largest);
  }
}

MaskMeasured::Part measure(const LabOptions& options, bool bf16) {
  ProductsScope products(bf16 ? Products::kBf16InFloat : Products::kFloat);
  auto drawn = [&](const char* what) {
    Tensor x = normals({kBatch, kLength, kUnits}, options.seed, what);
    return Variable(bf16 ? rounded_to_bf16(x) : x);
  };
  Inputs in{drawn("query"), drawn("keys"), drawn("values")};
  Inputs other = with_other_last(in);
  MaskMeasured::Part out;
  Attended masked = attend(in, Mask::causal());
  out.future = future_weight(masked.weights.value());
  out.rows_off = row_sums(masked.weights.value()).off;
  out.unseen_change =
      change_before_last(masked.context.value(), attend(other, Mask::causal()).context.value());
  out.after_low = row_sums((attend(in, {}).weights * past()).value()).low;
  Attended zeros = attend_with_zeros(in, bf16);
  out.zero_future = future_weight(zeros.weights.value());
  out.zero_change =
      change_before_last(zeros.context.value(), attend_with_zeros(other, bf16).context.value());
  hide_all(in, options.seed, out);
  return out;
}

void judge_part(Judge& judge, const MaskMeasured::Part& m, const std::string& tail) {
  judge.check("mask before softmax: largest future weight" + tail, "exactly 0",
              short_text(m.future), m.future == 0);
  judge.at_most("mask before softmax: |row sum - 1|" + tail, 1e-6, m.rows_off);
  judge.check("... outputs move when only the future does" + tail, "by exactly 0",
              short_text(m.unseen_change), m.unseen_change == 0);
  judge.at_most("mask after softmax: smallest row sum" + tail, 0.5, m.after_low);
  judge.at_least("future scores of 0: largest future weight" + tail, 0.05, m.zero_future);
  judge.at_least("... outputs move when only the future does" + tail, 0.05, m.zero_change);
  judge.check("nothing to see: output, gradient" + tail, "exactly 0, all finite",
              m.hidden_finite
                  ? format("{}, {}", short_text(m.hidden_output), short_text(m.hidden_gradient))
                  : "not finite",
              m.hidden_finite && m.hidden_output == 0 && m.hidden_gradient == 0);
}

Json numbers(const MaskMeasured::Part& m) {
  return {{"before_future_weight", m.future},           {"before_row_sum_off", m.rows_off},
          {"before_change_by_future", m.unseen_change}, {"after_smallest_row_sum", m.after_low},
          {"zero_future_weight", m.zero_future},        {"zero_change_by_future", m.zero_change},
          {"hidden_output", m.hidden_output},           {"hidden_gradient", m.hidden_gradient},
          {"hidden_all_finite", m.hidden_finite}};
}

}  // namespace

MaskMeasured measure_mask(const LabOptions& options) {
  return {.plain = measure(options, false), .bf16 = measure(options, true)};
}

LabReport judge(const MaskMeasured& m) {
  Judge judge;
  judge_part(judge, m.plain, "");
  judge_part(judge, m.bf16, " (bf16)");
  judge.numbers() = {{"float32", numbers(m.plain)}, {"bf16", numbers(m.bf16)}};
  return std::move(judge).report();
}

}  // namespace lookback
