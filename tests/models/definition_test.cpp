#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "support/models.h"

// The recurrent models against their definitions (the tutorial's 2.4.1 to 2.4.4, Luong's decoder),
// written down once more in plain loops, one sentence at a time.

namespace lookback {
namespace {

using testing::build_model;
using testing::ModelKind;
using Vector = std::vector<double>;

constexpr int64_t kWords = 9;

class Reference {
 public:
  Reference(const EncoderDecoder& model, const ModelKind& kind) : kind_(kind) {
    for (const Module::Named& p : model.parameters()) weights_[p.name] = p.variable.value();
  }

  /// Logits of each target position of one sentence.
  std::vector<Vector> logits(const std::vector<Id>& source, const std::vector<Id>& inputs) const {
    std::vector<Vector> below;
    for (Id id : source) below.push_back(row("encoder.embedding.weight", id));
    std::vector<State> last;
    for (int64_t layer = 0; layer < kind_.layers; ++layer) {
      State state = zeros();
      for (Vector& x : below) x = (state = step("encoder.rnn.", layer, x, state)).hidden;
      last.push_back(state);
    }
    const std::vector<Vector>& memory = below;
    std::vector<State> now = last;
    std::vector<Vector> out;
    Vector fed(last[0].hidden.size(), 0);
    bool current = kind_.says("query: current"), feeds = kind_.says("input_feeding: true");
    for (Id id : inputs) {
      Vector context = last.back().hidden, x = row("decoder.embedding.weight", id);
      if (kind_.attends() && !current) x = joined(x, context = attend(now.back().hidden, memory));
      if (feeds) x = joined(x, fed);
      for (int64_t layer = 0; layer < kind_.layers; ++layer) {
        State& state = now[static_cast<size_t>(layer)];
        state = step("decoder.rnn.", layer, x, state);
        x = state.hidden;
      }
      Vector features = joined(x, context);
      if (current) {
        features = times("decoder.attentional.weight", joined(attend(x, memory), x));
        for (double& value : features) value = std::tanh(value);
        fed = features;
      }
      out.push_back(plus(times("decoder.output.weight", features), flat("decoder.output.bias")));
    }
    return out;
  }

 private:
  struct State {
    Vector hidden, cell;
  };
  static double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }
  static Vector joined(Vector a, const Vector& b) {
    a.insert(a.end(), b.begin(), b.end());
    return a;
  }
  static Vector plus(Vector a, const Vector& b) {
    for (size_t i = 0; i < a.size(); ++i) a[i] += b[i];
    return a;
  }
  State zeros() const {
    Vector zero(static_cast<size_t>(weights_.at("encoder.rnn.weight_hh_l0").size(1)), 0);
    return {zero, zero};
  }
  Vector flat(const std::string& name) const {
    std::span<const Real> values = weights_.at(name).values();
    return {values.begin(), values.end()};
  }
  Vector row(const std::string& name, int64_t i) const {
    const Tensor& table = weights_.at(name);
    Vector out;
    for (int64_t j = 0; j < table.size(1); ++j) out.push_back(table.at({i, j}));
    return out;
  }
  Vector times(const std::string& name, const Vector& x) const {
    Vector out;
    for (int64_t i = 0; i < weights_.at(name).size(0); ++i) {
      Vector w = row(name, i);
      EXPECT_EQ(w.size(), x.size()) << name;
      double sum = 0;
      for (size_t j = 0; j < x.size(); ++j) sum += w[j] * x[j];
      out.push_back(sum);
    }
    return out;
  }

  State step(const std::string& place, int64_t layer, const Vector& x, const State& before) const {
    auto parameter = [&](const char* what) { return format("{}{}_l{}", place, what, layer); };
    Vector from_x = plus(times(parameter("weight_ih"), x), flat(parameter("bias_ih")));
    Vector from_h = plus(times(parameter("weight_hh"), before.hidden), flat(parameter("bias_hh")));
    size_t d = before.hidden.size();
    State next = before;
    for (size_t j = 0; j < d; ++j) {
      auto sum = [&](size_t gate) { return from_x[gate * d + j] + from_h[gate * d + j]; };
      if (kind_.cell == "rnn") {
        next.hidden[j] = std::tanh(sum(0));
      } else if (kind_.cell == "gru") {
        double r = sigmoid(sum(0)), z = sigmoid(sum(1));
        double n = std::tanh(from_x[2 * d + j] + r * from_h[2 * d + j]);
        next.hidden[j] = (1 - z) * n + z * before.hidden[j];
      } else {
        next.cell[j] = sigmoid(sum(1)) * before.cell[j] + sigmoid(sum(0)) * std::tanh(sum(2));
        next.hidden[j] = sigmoid(sum(3)) * std::tanh(next.cell[j]);
      }
    }
    return next;
  }

  static double dot(const Vector& a, const Vector& b) {
    EXPECT_EQ(a.size(), b.size());
    double sum = 0;
    for (size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
    return sum;
  }
  Vector project(const char* what, const Vector& x) const {
    return times(format("decoder.attention.{}.weight", what), x);
  }
  double score(const Vector& s, const Vector& h) const {
    auto additive = [&](Vector sum) {
      for (double& value : sum) value = std::tanh(value);
      return dot(flat("decoder.attention.v"), sum);
    };
    if (kind_.says("bahdanau")) return additive(plus(project("query", s), project("key", h)));
    if (kind_.says("score: concat")) return additive(project("joint", joined(s, h)));
    if (kind_.says("score: dot")) return dot(s, h);
    if (kind_.says("score: general")) return dot(s, project("key", h));
    EXPECT_TRUE(kind_.says("scaled_dot"));
    Vector q = project("query", s);
    return dot(q, project("key", h)) / std::sqrt(static_cast<double>(q.size()));
  }

  Vector attend(const Vector& query, const std::vector<Vector>& memory) const {
    Vector weights;
    double total = 0;
    for (const Vector& h : memory) {
      weights.push_back(std::exp(score(query, h)));
      total += weights.back();
    }
    Vector context(memory[0].size(), 0);
    for (size_t s = 0; s < memory.size(); ++s) {
      Vector mixed = kind_.says("scaled_dot") ? project("value", memory[s]) : memory[s];
      for (size_t d = 0; d < context.size(); ++d) context[d] += weights[s] / total * mixed[d];
    }
    return context;
  }

  ModelKind kind_;
  std::map<std::string, Tensor> weights_;
};

TEST(Model, FollowsItsDefinition) {
  std::vector<Example> examples = {{{5, 6, 7}, {4, 8}}, {{8}, {7, 7, 4, 5}}, {{}, {7, 6}}};
  Batch batch = make_batch(examples);
  for (const ModelKind& kind : testing::model_kinds()) {
    if (kind.bidirectional)
      continue;  // the second direction and the bridge have tests of their own
    SCOPED_TRACE(kind.name());
    std::unique_ptr<EncoderDecoder> model = build_model(kind.yaml(3, 4), kWords);
    // Larger weights, so that states and attention differ from place to place.
    for (Module::Named& p : model->parameters())
      for (Real& value : p.variable.leaf_value().values()) value *= 2;
    Tensor logits = model->forward(batch).value();
    Reference reference(*model, kind);
    for (int64_t b = 0; b < batch.size(); ++b) {
      auto begin = [&](const IdMatrix& ids) { return ids.values.begin() + b * ids.columns; };
      std::vector<Vector> expected = reference.logits(
          {begin(batch.source), begin(batch.source) + batch.source_lengths[b]},
          {begin(batch.decoder_input), begin(batch.decoder_input) + batch.target_lengths[b]});
      for (int64_t t = 0; t < batch.target_lengths[b]; ++t)
        for (int64_t v = 0; v < kWords; ++v)
          ASSERT_NEAR(logits.at({b, t, v}), expected[t][v], 2e-5)
              << "sentence " << b << ", position " << t;
    }
  }
}

/// A cell that remembers which elements of its inputs were zero, to see what dropout dropped.
class WatchingCell final : public Cell {
 public:
  explicit WatchingCell(const Options& options)
      : Cell(options), joint_({.inputs = options.input, .outputs = options.hidden}) {
    child("joint", joint_);
  }
  CellState step(const Variable& input, const CellState& state) const override {
    std::vector<bool> zero;
    for (Real value : input.value().values()) zero.push_back(value == 0);
    seen().emplace_back(input.size(1), zero);
    return {tanh(joint_(input)) + state.hidden, {}};
  }
  static std::vector<std::pair<int64_t, std::vector<bool>>>& seen() {
    static std::vector<std::pair<int64_t, std::vector<bool>>> all;
    return all;
  }

 private:
  Linear joint_;
};

void register_watching_cell() {
  static const bool once = [] {
    cells().add("watching", "for a test", [](const Cell::Options& options) {
      return std::make_unique<WatchingCell>(options);
    });
    return true;
  }();
  (void)once;
}

TEST(Model, VariationalDropoutDropsTheSameUnitsAtAllPositions) {
  register_watching_cell();
  Batch batch = make_batch(std::vector<Example>{{{5, 6}, {4, 8}}, {{8, 4}, {7, 7}}});
  // With a context or h~ the decoder goes step by step, without all positions are one.
  for (const char* attention : {"type: none", "type: bahdanau", "type: bahdanau, query: current",
                                "type: luong, query: current, input_feeding: true"})
    for (bool variational : {true, false}) {
      SCOPED_TRACE(::testing::Message() << attention << " " << variational);
      ModelKind kind{.cell = "watching",
                     .attention = attention,
                     .layers = 2,
                     .dropout = 0.5,
                     .variational = variational};
      std::unique_ptr<EncoderDecoder> model = build_model(kind.yaml(3, 16), kWords);
      WatchingCell::seen().clear();
      model->forward(batch, {.training = true, .key = {.seed = 1}});
      std::vector<std::vector<bool>> dropped;  // between the layers
      for (const auto& [units, zero] : WatchingCell::seen())
        if (units == 16) dropped.push_back(zero);
      ASSERT_EQ(dropped.size(), 6u);  // three positions on either side
      for (size_t side : {0, 3}) {
        EXPECT_EQ(dropped[side] == dropped[side + 1], variational);
        EXPECT_EQ(dropped[side] == dropped[side + 2], variational);
        EXPECT_NE(std::vector(dropped[side].begin(), dropped[side].begin() + 16),
                  std::vector(dropped[side].begin() + 16, dropped[side].end()));
      }
      EXPECT_NE(dropped[0], dropped[3]);
    }
}

TEST(Model, EncoderAndDecoderDropDifferentUnits) {
  register_watching_cell();
  std::vector<Example> examples = {{{5, 6}, {4, 8}}, {{8, 4}, {7, 7}}};
  Batch batch = make_batch(examples);
  ModelKind kind{.cell = "watching", .layers = 2, .dropout = 0.5};
  std::unique_ptr<EncoderDecoder> model = build_model(kind.yaml(3, 16), kWords);
  for (int64_t width : {3, 16}) {  // before the first layer, and between the two
    WatchingCell::seen().clear();
    model->forward(batch, {.training = true, .key = {.seed = 1}});
    std::vector<std::vector<bool>> dropped;
    for (const auto& [units, zero] : WatchingCell::seen())
      if (units == width) dropped.push_back(zero);
    ASSERT_EQ(dropped.size(), 6u);  // three positions on either side
    EXPECT_NE(std::vector(dropped.begin(), dropped.begin() + 3),
              std::vector(dropped.begin() + 3, dropped.end()));
  }
}

}  // namespace
}  // namespace lookback
