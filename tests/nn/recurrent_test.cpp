#include "nn/recurrent.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "autograd/gradient_check.h"
#include "support/error_text.h"
#include "support/random_tensor.h"
#include "support/registered.h"

namespace lookback {
namespace {

using testing::error_text;
using testing::leaves_of;
using testing::random_tensor;

constexpr int64_t E = 3, D = 5;

void expect_near(const Tensor& a, const Tensor& b, double tolerance, const char* what) {
  ASSERT_EQ(a.shape(), b.shape()) << what;
  for (int64_t i = 0; i < a.count(); ++i)
    ASSERT_NEAR(a.data()[i], b.data()[i], tolerance) << what << " " << i;
}

void expect_near(const CellState& a, const CellState& b, double tolerance) {
  expect_near(a.hidden.value(), b.hidden.value(), tolerance, "hidden");
  ASSERT_EQ(a.cell.defined(), b.cell.defined());
  if (a.cell.defined()) expect_near(a.cell.value(), b.cell.value(), tolerance, "cell");
}

/// Sentence b alone, without padding.
Tensor sentence(const Tensor& x, int64_t b, int64_t length) {
  return x.rows(b, 1)
      .reshape({x.size(1), x.size(2)})
      .rows(0, length)
      .clone()
      .reshape({1, length, x.size(2)});
}

struct Kind {
  std::string cell;
  bool bidirectional;
  int64_t layers;
};

std::vector<Kind> kinds() {
  std::vector<Kind> out;
  for (const std::string& cell : testing::all_cells())
    for (bool bidirectional : {false, true})
      for (int64_t layers : {1, 2}) out.push_back({cell, bidirectional, layers});
  return out;
}

std::unique_ptr<Recurrent> make(const Kind& kind) {
  auto out = std::make_unique<Recurrent>(Recurrent::Options{.cell = kind.cell,
                                                            .input = E,
                                                            .hidden = D,
                                                            .layers = kind.layers,
                                                            .bidirectional = kind.bidirectional});
  out->initialize(11);
  return out;
}

std::string name(const Kind& kind) {
  return kind.cell + (kind.bidirectional ? " both ways, " : " forward, ") +
         std::to_string(kind.layers) + " layers";
}

TEST(Cell, TheFusedRunEqualsStepAfterStep) {
  Lengths lengths{3, 5, 1, 4, 0};
  for (const std::string& kind : testing::all_cells())
    for (bool reverse : {false, true}) {
      SCOPED_TRACE(kind + (reverse ? " reversed" : ""));
      std::unique_ptr<Cell> cell = cells().get(kind)({.input = E, .hidden = D});
      cell->initialize(3);
      Variable x(random_tensor({5, 5, E}, 1), true);
      CellState start{Variable(random_tensor({5, D}, 2), true), {}};
      if (cell->has_cell()) start.cell = Variable(random_tensor({5, D}, 3), true);
      Cell::Run fused = cell->run(x, start, lengths, reverse);
      Cell::Run composed = cell->Cell::run(x, start, lengths, reverse);
      expect_near(fused.states.value(), composed.states.value(), 1e-5, "states");
      expect_near(fused.last, composed.last, 1e-5);

      Gradients a = backward(uneven_loss({fused.states, fused.last.hidden, fused.last.cell}));
      Gradients b =
          backward(uneven_loss({composed.states, composed.last.hidden, composed.last.cell}));
      std::vector<Variable> leaves = leaves_of(*cell);
      leaves.push_back(x);
      leaves.push_back(start.hidden);
      if (start.cell.defined()) leaves.push_back(start.cell);
      for (const Variable& leaf : leaves) expect_near(a.of(leaf), b.of(leaf), 1e-5, "gradient");
    }
}

TEST(Cell, StatesArePaddedWithZerosAndLastIsTheSentencesOwn) {
  Lengths lengths{2, 4, 0};
  for (const std::string& kind : testing::all_cells())
    for (bool reverse : {false, true}) {
      std::unique_ptr<Cell> cell = cells().get(kind)({.input = E, .hidden = D});
      cell->initialize(3);
      Variable x = random_tensor({3, 4, E}, 1);
      CellState start = cell->zeros(3);
      start.hidden = Variable(random_tensor({3, D}, 2));
      Cell::Run run = cell->run(x, start, lengths, reverse);
      const Tensor& states = run.states.value();
      for (int64_t b = 0; b < 3; ++b)
        for (int64_t d = 0; d < D; ++d) {
          for (int64_t s = lengths[b]; s < 4; ++s) EXPECT_EQ(states.at({b, s, d}), 0);
          Real own = lengths[b] == 0 ? start.hidden.value().at({b, d})
                                     : states.at({b, reverse ? 0 : lengths[b] - 1, d});
          EXPECT_EQ(run.last.hidden.value().at({b, d}), own) << kind << " " << reverse;
        }
    }
}

TEST(Cell, PaddingIsNotRead) {
  for (const std::string& kind : testing::all_cells())
    for (bool reverse : {false, true}) {
      std::unique_ptr<Cell> cell = cells().get(kind)({.input = E, .hidden = D});
      cell->initialize(3);
      Tensor clean = random_tensor({2, 4, E}, 1), poisoned = clean.clone();
      for (int64_t i = 2 * E; i < 4 * E; ++i)
        poisoned.data()[i] = std::numeric_limits<Real>::quiet_NaN();
      auto gradients = [&](const Tensor& x) {
        Cell::Run run = cell->run(x, cell->zeros(2), {2, 4}, reverse);
        return backward(uneven_loss({run.states, run.last.hidden}));
      };
      Gradients a = gradients(clean), b = gradients(poisoned);
      for (const Variable& leaf : leaves_of(*cell))
        for (int64_t i = 0; i < leaf.count(); ++i)
          ASSERT_EQ(a.of(leaf).data()[i], b.of(leaf).data()[i]);
    }
}

TEST(Cell, AOneTokenSentenceReadsTheSameBothWays) {
  for (const std::string& kind : testing::all_cells()) {
    std::unique_ptr<Cell> cell = cells().get(kind)({.input = E, .hidden = D});
    cell->initialize(3);
    Variable alone = random_tensor({1, 1, E}, 1);
    Cell::Run there = cell->run(alone, cell->zeros(1), {1}, false),
              back = cell->run(alone, cell->zeros(1), {1}, true);
    expect_near(there.states.value(), back.states.value(), 0, "states");
    expect_near(there.last, back.last, 0);

    Variable batch = random_tensor({2, 3, E}, 2);
    there = cell->run(batch, cell->zeros(2), {1, 3}, false);
    back = cell->run(batch, cell->zeros(2), {1, 3}, true);
    for (int64_t d = 0; d < D; ++d) {
      EXPECT_NEAR(there.states.value().at({0, 0, d}), back.states.value().at({0, 0, d}), 1e-6)
          << kind;
      EXPECT_NEAR(there.last.hidden.value().at({0, d}), back.last.hidden.value().at({0, d}), 1e-6)
          << kind;
    }
  }
}

TEST(Cell, StepsWithAKnownPartEqualStepsOnTheWholeInput) {
  const int64_t B = 3, T = 4, known = 2, late_size = 3;
  for (const std::string& kind : testing::all_cells()) {
    std::unique_ptr<Cell> cell = cells().get(kind)({.input = known + late_size, .hidden = D});
    cell->initialize(3);
    Variable early(random_tensor({B, T, known}, 1), true);
    std::vector<Variable> late;
    for (uint64_t t = 0; t < T; ++t) late.emplace_back(random_tensor({B, late_size}, 10 + t), true);
    CellState a = cell->zeros(B), b = cell->zeros(B);
    std::unique_ptr<Cell::Steps> steps = cell->steps(early);
    std::vector<Variable> parts = unbind(early, 1), ours, plain;
    for (size_t t = 0; t < T; ++t) {
      a = steps->step(static_cast<int64_t>(t), late[t], a);
      b = cell->step(concat(std::vector<Variable>{parts[t], late[t]}, -1), b);
      expect_near(a, b, 1e-5);
      ours.push_back(a.hidden);
      plain.push_back(b.hidden);
    }
    Gradients g = backward(uneven_loss(ours)), h = backward(uneven_loss(plain));
    std::vector<Variable> leaves = leaves_of(*cell);
    leaves.push_back(early);
    leaves.insert(leaves.end(), late.begin(), late.end());
    for (const Variable& leaf : leaves) expect_near(g.of(leaf), h.of(leaf), 1e-5, kind.c_str());
  }
}

TEST(Recurrent, APaddedBatchEqualsItsSentencesOneByOne) {
  Lengths lengths{3, 5, 1, 4};
  for (const Kind& kind : kinds()) {
    SCOPED_TRACE(name(kind));
    std::unique_ptr<Recurrent> rnn = make(kind);
    Tensor x = random_tensor({4, 5, E}, 1);
    Recurrent::Output batch = (*rnn)(x, lengths, {}, {});
    EXPECT_EQ(batch.states.shape(), Shape({4, 5, rnn->output()}));
    ASSERT_EQ(batch.last.size(), static_cast<size_t>(kind.layers));
    for (int64_t b = 0; b < 4; ++b) {
      Recurrent::Output one = (*rnn)(sentence(x, b, lengths[b]), {lengths[b]}, {}, {});
      expect_near(sentence(batch.states.value(), b, lengths[b]), one.states.value(), 1e-6,
                  "states");
      for (size_t l = 0; l < batch.last.size(); ++l) {
        CellState own{batch.last[l].hidden.value().rows(b, 1), {}};
        if (batch.last[l].cell.defined())
          own.cell = Variable(batch.last[l].cell.value().rows(b, 1));
        expect_near(own, one.last[l], 1e-6);
      }
    }
  }
}

TEST(Recurrent, TheSecondDirectionReadsTheMirroredSentence) {
  Lengths lengths{3, 5, 1, 4};
  for (const Kind& kind : kinds()) {
    if (!kind.bidirectional || kind.layers != 1) continue;
    SCOPED_TRACE(name(kind));
    std::unique_ptr<Recurrent> rnn = make(kind);
    Tensor x = random_tensor({4, 5, E}, 1), mirrored = x.clone();
    for (int64_t b = 0; b < 4; ++b)
      for (int64_t s = 0; s < lengths[b]; ++s)
        std::copy_n(x.data() + (b * 5 + s) * E, E,
                    mirrored.data() + (b * 5 + lengths[b] - 1 - s) * E);
    Recurrent::Output out = (*rnn)(x, lengths, {}, {});
    const Cell& backward_cell = rnn->cell(0, 1);
    Cell::Run read = backward_cell.run(mirrored, backward_cell.zeros(4), lengths, false);
    for (int64_t b = 0; b < 4; ++b)
      for (int64_t d = 0; d < D; ++d) {
        for (int64_t s = 0; s < lengths[b]; ++s)
          ASSERT_NEAR(out.states.value().at({b, s, D + d}),
                      read.states.value().at({b, lengths[b] - 1 - s, d}), 1e-6);
        ASSERT_NEAR(out.last[0].hidden.value().at({b, D + d}), read.last.hidden.value().at({b, d}),
                    1e-6);
      }
  }
}

TEST(Recurrent, PaddingChangesNoGradient) {
  Lengths lengths{3, 2, 1};
  for (const Kind& kind : kinds()) {
    SCOPED_TRACE(name(kind));
    std::unique_ptr<Recurrent> rnn = make(kind);
    Tensor tight = random_tensor({3, 3, E}, 1), wide = Tensor::full({3, 6, E}, 0.7f);
    for (int64_t b = 0; b < 3; ++b)
      std::copy_n(tight.data() + b * 3 * E, 3 * E, wide.data() + b * 6 * E);
    auto gradients = [&](const Tensor& x) {
      Recurrent::Output out = (*rnn)(x, lengths, {}, {});
      return backward(uneven_loss({narrow(out.states, 1, 0, 3), out.last.back().hidden}));
    };
    Gradients a = gradients(tight), b = gradients(wide);
    for (const Variable& leaf : leaves_of(*rnn))
      expect_near(a.of(leaf), b.of(leaf), 1e-6, "gradient");
  }
}

TEST(Recurrent, StartsFromTheGivenStates) {
  for (const Kind& kind : kinds()) {
    SCOPED_TRACE(name(kind));
    std::unique_ptr<Recurrent> rnn = make(kind);
    Tensor x = random_tensor({2, 4, E}, 1);
    // Reading two tokens and then two more, forward, is reading four.
    if (kind.bidirectional) {
      std::vector<CellState> start(static_cast<size_t>(kind.layers) * 2, rnn->cell(0).zeros(2));
      Recurrent::Output zero = (*rnn)(x, {4, 4}, {}, {}), same = (*rnn)(x, {4, 4}, start, {});
      expect_near(zero.states.value(), same.states.value(), 0, "states");
      start[1].hidden = Variable(Tensor::full({2, D}, 1));  // of layer 0, reversed
      Recurrent::Output other = (*rnn)(x, {4, 4}, start, {});
      if (kind.layers == 1) {
        EXPECT_EQ(other.states.value().at({0, 3, 0}), zero.states.value().at({0, 3, 0}));
        EXPECT_NE(other.states.value().at({0, 3, D}), zero.states.value().at({0, 3, D}));
      }
      continue;
    }
    Recurrent::Output whole = (*rnn)(x, {4, 4}, {}, {});
    Recurrent::Output first = (*rnn)(narrow(x, 1, 0, 2), {2, 2}, {}, {});
    Recurrent::Output second = (*rnn)(narrow(x, 1, 2, 2), {2, 2}, first.last, {});
    expect_near(narrow(whole.states, 1, 2, 2).value(), second.states.value(), 1e-6, "states");
    for (size_t l = 0; l < whole.last.size(); ++l) expect_near(whole.last[l], second.last[l], 1e-6);
  }
}

TEST(Recurrent, DropoutStandsBetweenLayersInTrainingAlone) {
  Recurrent::Options options{.cell = "gru", .input = E, .hidden = D, .layers = 2, .dropout = 0.5};
  Recurrent rnn(options);
  rnn.initialize(1);
  options.site = "elsewhere";
  Recurrent other(options);
  other.initialize(1);
  Tensor x = random_tensor({3, 4, E}, 1);
  Pass training{.training = true, .key = {.seed = 1, .step = 2}};
  Tensor plain = rnn(x, {4, 4, 4}, {}, {}).states.value(),
         one = rnn(x, {4, 4, 4}, {}, training).states.value();
  Tensor again = rnn(x, {4, 4, 4}, {}, training).states.value();
  Tensor elsewhere = other(x, {4, 4, 4}, {}, training).states.value();
  expect_near(one, again, 0, "one key, one draw");
  EXPECT_NE(plain.at({0, 0, 0}), one.at({0, 0, 0}));
  bool same = true;
  for (int64_t i = 0; i < one.count(); ++i) same = same && one.data()[i] == elsewhere.data()[i];
  EXPECT_FALSE(same) << "two stacks of one model drop the same units";
  // The first layer is before the dropout.
  expect_near(rnn(x, {4, 4, 4}, {}, {}).last[0].hidden.value(),
              rnn(x, {4, 4, 4}, {}, training).last[0].hidden.value(), 0, "first layer");
}

TEST(Cells, ARegisteredNameCannotBeTakenAgain) {
  testing::register_averaging_cell();
  CellFactory factory = cells().get("averaging");
  EXPECT_EQ(error_text([&] { cells().add("averaging", "", factory); }),
            "[registry] cell \"averaging\" is registered already");
  EXPECT_EQ(error_text([&] { cells().add("gru", "", factory); }),
            "[registry] cell \"gru\" is registered already");
}

TEST(Cells, AnUnknownNameListsTheKnownOnesAndTheNearest) {
  testing::register_averaging_cell();
  std::string text = error_text([] { Recurrent({.cell = "grv", .input = 1, .hidden = 1}); });
  EXPECT_EQ(text.find("unknown cell \"grv\"; did you mean \"gru\"? (known: "), 0u) << text;
  EXPECT_NE(text.find("gru, lstm, rnn"), std::string::npos) << text;
  EXPECT_THROW(cells().get("transformer"), UserError);
}

TEST(Recurrent, ErrorsNameTheShapes) {
  Recurrent rnn({.cell = "gru", .input = E, .hidden = D});
  rnn.initialize(1);
  Variable x = random_tensor({2, 3, E}, 1), wrong = random_tensor({2, 3, E + 1}, 1);
  EXPECT_EQ(error_text([&] { rnn(x, {3}, {}, {}); }),
            "[recurrent_sequence] x (2, 3, 3) has 2 sentences, but 1 lengths are given");
  EXPECT_EQ(error_text([&] {
              rnn(x, {3, 4}, {}, {});
            }),
            "[recurrent_sequence] length 4 does not fit x (2, 3, 3)");
  EXPECT_EQ(error_text([&] {
              rnn(wrong, {3, 3}, {}, {});
            }),
            "[recurrent_sequence] weight_ih is (15, 3), must be (15, 4)");
  EXPECT_EQ(error_text([&] {
              rnn(x, {3, 3}, {rnn.cell(0).zeros(2), rnn.cell(0).zeros(2)}, {});
            }),
            "[recurrent] 2 initial states for 1 layers in 1 directions");
}

}  // namespace
}  // namespace lookback
