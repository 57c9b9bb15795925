#include <cmath>

#include "nn/positions.h"
#include "nn/transformer_layer.h"
#include "study/labs/built_in.h"
#include "study/labs/samples.h"

namespace lookback {
namespace {

constexpr int64_t kBatch = 2, kLength = 24, kWidth = 32, kHeads = 4;

}  // namespace

EquivarianceMeasured measure_equivariance(const LabOptions& options) {
  NoGrad quiet;
  MultiHeadAttention attention({.width = kWidth, .heads = kHeads});
  TransformerEncoderLayer layer({.width = kWidth, .heads = kHeads, .feed_forward = 2 * kWidth});
  Positions positions({.kind = "sinusoidal", .width = kWidth});
  draw_parameters(attention, options.seed);
  draw_parameters(layer, options.seed);
  Lengths lengths(kBatch, kLength);
  Tensor x = normals({kBatch, kLength, kWidth}, options.seed, "x");

  EquivarianceMeasured out{.positions = INFINITY, .causal = INFINITY};
  out.orders = options.full ? 64 : 8;
  for (int64_t i = 0; i < out.orders; ++i) {
    give_up_if_stopped(options);
    std::vector<int64_t> order = permutation(kLength, options.seed, format("order {}", i));
    // |f(reordered x) - reordered f(x)|
    auto off = [&](const auto& f) {
      Tensor straight = f(Variable(x)).value();
      return largest_difference(f(Variable(reordered(x, order))).value(),
                                reordered(straight, order)) /
             largest_size(straight);
    };
    out.attention = larger(out.attention,
                           off([&](const Variable& v) { return attention.self(v, {}).context; }));
    out.layer = larger(out.layer, off([&](const Variable& v) { return layer(v, {}, {}); }));
    out.positions = smaller(out.positions, off([&](const Variable& v) {
                              return attention.self(positions(v, lengths, {}), {}).context;
                            }));
    out.causal = smaller(out.causal, off([&](const Variable& v) {
                           return attention.self(v, {.mask = Mask::causal(), .pass = {}}).context;
                         }));
  }
  return out;
}

LabReport judge(const EquivarianceMeasured& m) {
  Judge judge;
  constexpr double kSame = 1e-5, kOther = 1e-2;
  judge.at_most("attention: largest difference, share", kSame, m.attention);
  judge.at_most("a Transformer's encoder layer", kSame, m.layer);
  judge.at_least("attention after sinusoidal positions", kOther, m.positions);
  judge.at_least("attention under a causal mask", kOther, m.causal);
  judge.numbers() = {{"attention", m.attention},
                     {"encoder_layer", m.layer},
                     {"positions", m.positions},
                     {"causal", m.causal},
                     {"orders", m.orders}};
  return std::move(judge).report();
}

}  // namespace lookback
