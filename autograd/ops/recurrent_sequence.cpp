#include <algorithm>
#include <utility>

#include "autograd/broadcast.h"
#include "autograd/node.h"
#include "autograd/ops.h"
#include "autograd/ops/gather_rows.h"
#include "autograd/ops/packing.h"
#include "core/error.h"
#include "core/gemm.h"
#include "core/kernels/gates.h"
#include "core/threads.h"

namespace lookback {

int64_t gate_count(CellKind cell) {
  return cell == CellKind::kLstm ? 4 : cell == CellKind::kGru ? 3 : 1;
}

namespace {

/// What forward leaves for backward. Rows are packed by step; `hidden` and `cell` begin with the B
/// initial states, so that where all lengths are equal the states before each step are simply the
/// rows one step up.
struct Trace {
  CellKind kind;
  int64_t units, gates;  // D, and 1, 3 or 4 blocks of it
  Packing packing;
  Tensor x;                    // (P, E); of gathered vectors those that occur, (U, E)
  std::vector<Id> row_of{};    // (P), where x is gathered: which row of x stands at each packed row
  std::vector<Id> place_of{};  // (U): and where that one stands in the whole table
  Tensor gate;                 // (P, G): activated gates; vanilla: unused
  Tensor from_state;           // (P, D): GRU's h_n
  Tensor hidden;               // (B + P, D)
  Tensor cell;                 // (B + P, D), LSTM

  int64_t batch() const { return packing.batch(); }
  int64_t state_row(int64_t step) const { return step < 0 ? 0 : batch() + packing.offset(step); }
  Real* state(Tensor& of, int64_t step) const { return of.data() + state_row(step) * units; }
  const Real* state(const Tensor& of, int64_t step) const {
    return of.data() + state_row(step) * units;
  }

  /// The state before each packed row, (P, D).
  Tensor before() const {
    if (packing.rows() == packing.steps() * batch()) return hidden.rows(0, packing.rows());
    Tensor out({packing.rows(), units});
    for (int64_t t = 0; t < packing.steps(); ++t)
      std::copy_n(state(hidden, t - 1), packing.running(t) * units,
                  out.data() + packing.offset(t) * units);
    return out;
  }

  /// The state after each sentence's own last step, (B, D) by sentence.
  Tensor last(const Tensor& of) const {
    Tensor out({batch(), units});
    for (int64_t i = 0; i < batch(); ++i)
      std::copy_n(state(of, packing.length(i) - 1) + i * units, units,
                  out.data() + packing.sentence(i) * units);
    return out;
  }
};

/// Splits the rows of a step among threads; a step of few sentences is not worth a team.
template <class Body>
void over_rows(int64_t rows, int64_t units, Body&& body) {
  parallel_for(rows, std::max<int64_t>(1, (1 << 13) / units), body);
}

void step_forward(Trace& trace, int64_t t, const Real* gx, const Real* gh, Real* gate) {
  int64_t units = trace.units, width = trace.gates * units;
  const Real* previous = trace.state(trace.hidden, t - 1);
  Real* next = trace.state(trace.hidden, t);
  over_rows(trace.packing.running(t), units, [&](int64_t begin, int64_t end) {
    int64_t g = begin * width, s = begin * units;
    switch (trace.kind) {
      case CellKind::kRnn:
        kernels::rnn_forward((end - begin) * units, gx + g, gh + g, next + s);
        break;
      case CellKind::kGru:
        kernels::gru_forward(
            {.rows = end - begin,
             .units = units,
             .x = gx + g,
             .h = gh + g,
             .previous = previous + s,
             .gates = gate + g,
             .from_state = trace.from_state.data() + trace.packing.offset(t) * units + s,
             .next = next + s});
        break;
      case CellKind::kLstm:
        kernels::lstm_forward({.rows = end - begin,
                               .units = units,
                               .x = gx + g,
                               .h = gh + g,
                               .previous_cell = trace.state(trace.cell, t - 1) + s,
                               .gates = gate + g,
                               .next_cell = trace.state(trace.cell, t) + s,
                               .next = next + s});
        break;
    }
  });
}

/// The pointwise backward of step t. `dhidden` (and `dcell`) hold the gradient of the states after
/// the step and get the part of the gradient before it that does not pass W_hh.
void step_backward(const Trace& trace, int64_t t, Real* dhidden, Real* dcell, Real* dx, Real* dh) {
  int64_t units = trace.units, width = trace.gates * units, row = trace.packing.offset(t);
  const Real* gate = trace.gate.defined() ? trace.gate.data() + row * width : nullptr;
  over_rows(trace.packing.running(t), units, [&](int64_t begin, int64_t end) {
    int64_t g = begin * width, s = begin * units;
    switch (trace.kind) {
      case CellKind::kRnn:
        kernels::rnn_backward((end - begin) * units, dhidden + s, trace.state(trace.hidden, t) + s,
                              dx + g);
        std::fill_n(dhidden + s, (end - begin) * units, Real{0});
        break;
      case CellKind::kGru:
        kernels::gru_backward({.rows = end - begin,
                               .units = units,
                               .gradient = dhidden + s,
                               .gates = gate + g,
                               .from_state = trace.from_state.data() + row * units + s,
                               .previous = trace.state(trace.hidden, t - 1) + s,
                               .dx = dx + g,
                               .dh = dh + g,
                               .dprevious = dhidden + s});
        break;
      case CellKind::kLstm:
        kernels::lstm_backward({.rows = end - begin,
                                .units = units,
                                .gradient = dhidden + s,
                                .cell_gradient = dcell + s,
                                .gates = gate + g,
                                .previous_cell = trace.state(trace.cell, t - 1) + s,
                                .next_cell = trace.state(trace.cell, t) + s,
                                .dgates = dx + g,
                                .dprevious_cell = dcell + s});
        std::fill_n(dhidden + s, (end - begin) * units, Real{0});
        break;
    }
  });
}

/// Adds rows [begin, end) of a gradient by sentence to one by place.
void add_by_place(const Tensor& by_sentence, const Packing& packing, int64_t begin, int64_t end,
                  Tensor& to) {
  if (!by_sentence.defined()) return;
  int64_t units = to.size(1);
  for (int64_t i = begin; i < end; ++i)
    for (int64_t j = 0; j < units; ++j)
      to.data()[i * units + j] += by_sentence.data()[packing.sentence(i) * units + j];
}

struct Weights {
  Tensor ih, hh;
};

enum Input { kX, kWeightIh, kWeightHh, kBiasIh, kBiasHh, kHidden, kCell };

void backward_through_time(const Trace& trace, const Weights& weights, int64_t positions,
                           OutputGradients g, GradientSink& into) {
  const Packing& packing = trace.packing;
  int64_t units = trace.units, width = trace.gates * units, batch = trace.batch();
  Tensor dhidden = Tensor::zeros({batch, units});
  Tensor dcell = trace.kind == CellKind::kLstm ? Tensor::zeros({batch, units}) : Tensor();
  Tensor dx({packing.rows(), width});
  Tensor dh = trace.kind == CellKind::kGru ? Tensor({packing.rows(), width})
                                           : dx;  // equal but for a GRU's n
  bool wants_start = into.wants(kHidden);
  PackedMatrix weight_hh(matrix(weights.hh.data(), width, units));

  for (int64_t t = packing.steps() - 1; t >= 0; --t) {
    int64_t running = packing.running(t), row = packing.offset(t);
    // Sentences whose last step this is join here.
    add_by_place(g[1], packing, packing.running(t + 1), running, dhidden);
    if (dcell.defined()) add_by_place(g[2], packing, packing.running(t + 1), running, dcell);
    for (int64_t i = 0; g[0].defined() && i < running; ++i) {
      const Real* from =
          g[0].data() + (packing.sentence(i) * positions + packing.position(i, t)) * units;
      for (int64_t j = 0; j < units; ++j) dhidden.data()[i * units + j] += from[j];
    }
    step_backward(trace, t, dhidden.data(), dcell.defined() ? dcell.data() : nullptr,
                  dx.data() + row * width, dh.data() + row * width);
    if (t > 0 || wants_start)
      gemm(matrix(dh.data() + row * width, running, width), weight_hh,
           mutable_matrix(dhidden.data(), running, units), {.accumulate = true});
  }
  // Sentences without any token never entered the loop: their last state is the initial one.
  add_by_place(g[1], packing, packing.running(0), batch, dhidden);
  if (dcell.defined()) add_by_place(g[2], packing, packing.running(0), batch, dcell);

  // By row of x: all that reaches a word together, where x is gathered.
  const bool gathered = !trace.row_of.empty();
  int64_t inputs = trace.x.size(1), rows = trace.x.size(0);
  Tensor dgates = gathered ? Tensor::zeros({rows, width}) : dx;
  if (gathered) scatter_add_rows(dx.data(), trace.row_of, width, dgates.data());
  if (into.wants(kX)) {
    Tensor of_rows({rows, inputs});
    gemm(matrix(std::as_const(dgates).data(), rows, width),
         matrix(weights.ih.data(), width, inputs), mutable_matrix(of_rows.data(), rows, inputs));
    if (gathered)
      scatter_add_rows(of_rows.data(), trace.place_of, inputs, into.accumulated(kX).data());
    else
      into.add(kX, packing.unpack(of_rows.data(), inputs, positions));
  }
  into.add_product(kWeightIh, dgates, trace.x);
  if (into.wants(kWeightHh)) into.add_product(kWeightHh, dh, trace.before());
  if (into.wants(kBiasIh))
    add_column_sums(dx.data(), packing.rows(), width, into.accumulated(kBiasIh).data());
  if (into.wants(kBiasHh))
    add_column_sums(dh.data(), packing.rows(), width, into.accumulated(kBiasHh).data());
  if (wants_start) into.add(kHidden, packing.unsort(dhidden));
  if (dcell.defined() && into.wants(kCell)) into.add(kCell, packing.unsort(dcell));
}

void check(const SequenceInput& in, int64_t units, int64_t width) {
  auto refuse = [](const char* what, const Shape& shape, const std::string& wanted) {
    fail("[recurrent_sequence] {} is {}, must be {}", what, shape.text(), wanted);
  };
  if (in.x.rank() != 3) refuse("x", in.x.shape(), "(B, S, E)");
  if (in.x.size(0) != static_cast<int64_t>(in.lengths.size()))
    fail("[recurrent_sequence] x {} has {} sentences, but {} lengths are given",
         in.x.shape().text(), in.x.size(0), in.lengths.size());
  for (int64_t length : in.lengths)
    if (length < 0 || length > in.x.size(1))
      fail("[recurrent_sequence] length {} does not fit x {}", length, in.x.shape().text());
  auto expect = [&](const char* what, const Variable& v, const Shape& wanted) {
    if (v.shape() != wanted) refuse(what, v.shape(), wanted.text());
  };
  expect("weight_hh", in.weight_hh, {width, units});
  expect("weight_ih", in.weight_ih, {width, in.x.size(2)});
  expect("bias_ih", in.bias_ih, {width});
  expect("bias_hh", in.bias_hh, {width});
  if (in.hidden.defined()) expect("hidden", in.hidden, {in.x.size(0), units});
  if (in.cell_state.defined()) expect("cell_state", in.cell_state, {in.x.size(0), units});
}

/// (B + P, D) with the initial state in place.
Tensor states_from(const Variable& start, const Packing& packing, int64_t units) {
  Tensor out({packing.batch() + packing.rows(), units});
  if (start.defined()) {
    Tensor sorted = packing.sort(start.value());
    std::copy_n(sorted.data(), sorted.count(), out.data());
  } else {
    std::fill_n(out.data(), packing.batch() * units, Real{0});
  }
  return out;
}

/// Takes what occurs at real positions, in the order of the steps: what stands in the padding alone is
/// never read.
void take_words(const Gathered& words, int64_t positions, Trace& trace) {
  const Packing& packing = trace.packing;
  std::vector<Id> place(static_cast<size_t>(words.table.size(0)), -1);
  for (int64_t t = 0; t < packing.steps(); ++t)
    for (int64_t i = 0; i < packing.running(t); ++i) {
      Id word =
          words
              .index[static_cast<size_t>(packing.sentence(i) * positions + packing.position(i, t))];
      Id& row = place[static_cast<size_t>(word)];
      if (row < 0) {
        row = static_cast<Id>(trace.place_of.size());
        trace.place_of.push_back(word);
      }
      trace.row_of.push_back(row);
    }
  const int64_t width = words.table.size(1);
  trace.x = Tensor({static_cast<int64_t>(trace.place_of.size()), width});
  gather_rows(words.table.value().data(), trace.place_of, width, trace.x.data());
}

/// The input's share of the gates of all steps, (P, G).
Tensor input_gates(const SequenceInput& in, const Trace& trace, int64_t width) {
  Tensor rows({trace.x.size(0), width});
  gemm(matrix(trace.x.data(), trace.x.size(0), trace.x.size(1)),
       transposed(matrix(in.weight_ih.value().data(), width, trace.x.size(1))),
       mutable_matrix(rows.data(), trace.x.size(0), width), {.bias = in.bias_ih.value().data()});
  if (trace.row_of.empty()) return rows;
  Tensor out({trace.packing.rows(), width});
  gather_rows(std::as_const(rows).data(), trace.row_of, width, out.data());
  return out;
}

}  // namespace

SequenceOutput recurrent_sequence(const SequenceInput& in) {
  int64_t gates = gate_count(in.cell), units = in.weight_hh.size(1), width = gates * units;
  check(in, units, width);
  bool lstm = in.cell == CellKind::kLstm;
  Packing packing(in.lengths, in.reverse);
  // Word vectors that repeat are multiplied once a word. (Without any token there is nothing to take.)
  const Gathered* words = packing.rows() > 0 ? in.x.gathered().get() : nullptr;
  int64_t positions = in.x.size(1);
  Trace trace{.kind = in.cell,
              .units = units,
              .gates = gates,
              .packing = packing,
              .x = words ? Tensor() : packing.pack(in.x.value()),
              .gate = {},
              .from_state = in.cell == CellKind::kGru ? Tensor({packing.rows(), units}) : Tensor(),
              .hidden = states_from(in.hidden, packing, units),
              .cell = lstm ? states_from(in.cell_state, packing, units) : Tensor()};

  if (words) take_words(*words, positions, trace);

  // All input products at once; then each step adds its recurrent product. Activated gates
  // overwrite them.
  Tensor gx = input_gates(in, trace, width), gh({packing.running(0), width});
  PackedMatrix weight_hh(transposed(matrix(in.weight_hh.value().data(), width, units)));
  for (int64_t t = 0; t < packing.steps(); ++t) {
    int64_t running = packing.running(t);
    gemm(matrix(trace.state(trace.hidden, t - 1), running, units), weight_hh,
         mutable_matrix(gh.data(), running, width), {.bias = in.bias_hh.value().data()});
    Real* rows = gx.data() + packing.offset(t) * width;
    step_forward(trace, t, rows, gh.data(), rows);
  }
  if (in.cell != CellKind::kRnn) trace.gate = gx;

  // The states after the steps follow the B initial ones.
  const Real* after = trace.hidden.data() + packing.batch() * units;
  std::vector<Tensor> results{packing.unpack(after, units, positions), trace.last(trace.hidden)};
  if (lstm) results.push_back(trace.last(trace.cell));
  std::vector<Variable> inputs{
      words ? words->table : in.x, in.weight_ih, in.weight_hh, in.bias_ih, in.bias_hh, in.hidden};
  if (lstm) inputs.push_back(in.cell_state);
  Weights weights{in.weight_ih.value(), in.weight_hh.value()};
  std::vector<Variable> out =
      GraphBuilder("recurrent_sequence", std::move(inputs))
          .results(std::move(results), [trace = std::move(trace), weights, positions](
                                           OutputGradients g, GradientSink& into) {
            backward_through_time(trace, weights, positions, g, into);
          });
  return {out[0], out[1], lstm ? out[2] : Variable()};
}

}  // namespace lookback
