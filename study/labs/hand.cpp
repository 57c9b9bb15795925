#include <cmath>

#include "nn/scaled_dot.h"
#include "study/labs/built_in.h"
#include "study/labs/samples.h"

namespace lookback {
namespace {

constexpr int64_t kPlaces = 3, kUnits = 2;

const Numbers kWeights = {.401112, .197776, .401112, .197776, .401112,
                          .401112, .248255, .248255, .503490};
const Numbers kOutput = {3, 4, 3.406673, 4.406673, 3.510470, 4.510470};
const Numbers kUnscaledFirst = {.422319, .155362, .422319};
const Numbers kUnscaledThird = {.211942, .211942, .576117};

// The claims have six digits, a float's rounding adds a few times 1e-7.
constexpr double kTolerance = 2e-6;

Variable keys() {
  return Tensor::from({1, 1, kPlaces, kUnits}, {1, 0, 0, 1, 1, 1});
}
Variable values() {
  return Tensor::from({1, 1, kPlaces, kUnits}, {1, 2, 3, 4, 5, 6});
}

Attended attend(std::optional<double> scale, AttentionWay way = AttentionWay::kMaterialised) {
  return dot_product_attention(heads(keys()), heads(keys()), heads(values()),
                               {.scale = scale, .way = way, .weights = true});
}

Numbers row(const Numbers& all, int64_t i, int64_t columns) {
  return {all.begin() + i * columns, all.begin() + (i + 1) * columns};
}

/// The layer projects keys and values from one memory: here a row holds both, side by side, and the
/// projections pick them out.
Numbers through_the_layer() {
  ScaledDotAttention layer({.units = kUnits}, {.query = kUnits, .values = 2 * kUnits});
  parameter_of(layer, "query.weight").leaf_value().copy_from(Tensor::from({2, 2}, {1, 0, 0, 1}));
  parameter_of(layer, "key.weight")
      .leaf_value()
      .copy_from(Tensor::from({2, 4}, {1, 0, 0, 0, 0, 1, 0, 0}));
  parameter_of(layer, "value.weight")
      .leaf_value()
      .copy_from(Tensor::from({4, 4}, {0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0}));
  Variable memory = Tensor::from({1, 3, 4}, {1, 0, 1, 2, 0, 1, 3, 4, 1, 1, 5, 6});
  Variable queries = reshape(keys(), {1, kPlaces, kUnits});
  Variable context = layer.attend_all(queries, layer.prepare(memory, {})).context;
  return doubles(narrow(context, 2, 0, kUnits).value());
}

}  // namespace

HandMeasured measure_hand(const LabOptions&) {
  HandMeasured out;
  Attended scaled = attend({});
  out.weights = doubles(scaled.weights.value());
  out.output = doubles(scaled.context.value());
  out.unscaled = doubles(attend(1.0).weights.value());
  out.layer_output = through_the_layer();
  out.blockwise_output = doubles(attend({}, AttentionWay::kBlockwise).context.value());
  for (double scale : {0.0, 0.1, std::sqrt(0.5), 1.0, 3.0, 10.0, 100.0}) {
    out.scales.push_back(scale);
    out.first_rows.push_back(row(doubles(attend(scale).context.value()), 0, kUnits));
  }
  return out;
}

LabReport judge(const HandMeasured& m) {
  Judge judge;
  for (int64_t i = 0; i < kPlaces; ++i)
    judge.near(format("P, row {}", i + 1), row(kWeights, i, kPlaces), row(m.weights, i, kPlaces),
               kTolerance, 6);
  for (int64_t i = 0; i < kPlaces; ++i)
    judge.near(format("O, row {}", i + 1), row(kOutput, i, kUnits), row(m.output, i, kUnits),
               kTolerance, 6);
  judge.check("O, row 3, to three places", "4.510 (printed: 4.511)",
              format("{:.3f}", m.output.back()), format("{:.3f}", m.output.back()) == "4.510");
  judge.near("P unscaled, row 1", kUnscaledFirst, row(m.unscaled, 0, kPlaces), kTolerance, 6);
  judge.near("P unscaled, row 3", kUnscaledThird, row(m.unscaled, 2, kPlaces), kTolerance, 6);
  double away = 0;
  for (const Numbers& first : m.first_rows)
    for (size_t k = 0; k < first.size(); ++k) {
      double difference = std::abs(first[k] - kOutput[k]);
      away = larger(away, difference);
    }
  judge.at_most(format("row 1 of O off (3, 4), scale {} to {}", short_text(m.scales.front()),
                       short_text(m.scales.back())),
                kTolerance, away);
  auto distance = [&](const Numbers& other) {
    double largest = 0;
    for (size_t i = 0; i < kOutput.size(); ++i) {
      double difference = std::abs(other.at(i) - kOutput[i]);
      largest = larger(largest, difference);
    }
    return largest;
  };
  judge.at_most("O off that, ScaledDotAttention", kTolerance, distance(m.layer_output));
  judge.at_most("O off that, block by block", kTolerance, distance(m.blockwise_output));
  judge.numbers() = {{"weights", m.weights},
                     {"output", m.output},
                     {"weights_unscaled", m.unscaled},
                     {"output_of_layer", m.layer_output},
                     {"output_blockwise", m.blockwise_output},
                     {"scales", m.scales},
                     {"row_1_by_scale", m.first_rows}};
  return std::move(judge).report();
}

}  // namespace lookback
