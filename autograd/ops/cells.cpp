#include <algorithm>

#include "autograd/node.h"
#include "autograd/ops.h"
#include "core/error.h"
#include "core/kernels/gates.h"
#include "core/threads.h"

namespace lookback {
namespace {

int64_t row_grain(int64_t units) {
  return std::max<int64_t>(1, (1 << 12) / std::max<int64_t>(units, 1));
}

/// Checks x and h of (B, gates D) against a state of (B, D).
void check(const char* op, const Variable& x, const Variable& h, const Variable& state,
           int64_t gates) {
  if (state.rank() != 2) fail("[{}] the state must be (B, D), not {}", op, state.shape().text());
  Shape wanted{state.size(0), gates * state.size(1)};
  for (const Variable* part : {&x, &h})
    if (part->shape() != wanted)
      fail("[{}] gates {} must be {}: {} blocks of the state's {} units", op, part->shape().text(),
           wanted.text(), gates, state.size(1));
}

}  // namespace

Variable rnn_gates(const Variable& x, const Variable& h) {
  check("rnn_gates", x, h, h, 1);
  Tensor next(h.shape());
  kernels::rnn_forward(next.count(), x.value().data(), h.value().data(), next.data());
  return GraphBuilder("rnn_gates", {x, h})
      .result(next, [next](OutputGradients g, GradientSink& into) {
        Tensor d(next.shape());
        kernels::rnn_backward(d.count(), g[0].data(), next.data(), d.data());
        into.add(0, d);
        into.add(1, d);
      });
}

Variable gru_gates(const Variable& x, const Variable& h, const Variable& previous) {
  check("gru_gates", x, h, previous, 3);
  int64_t rows = previous.size(0), units = previous.size(1);
  Tensor gates(x.shape()), from_state(previous.shape()), next(previous.shape());
  parallel_for(rows, row_grain(units), [&](int64_t begin, int64_t end) {
    kernels::gru_forward({.rows = end - begin,
                          .units = units,
                          .x = x.value().data() + begin * 3 * units,
                          .h = h.value().data() + begin * 3 * units,
                          .previous = previous.value().data() + begin * units,
                          .gates = gates.data() + begin * 3 * units,
                          .from_state = from_state.data() + begin * units,
                          .next = next.data() + begin * units});
  });
  return GraphBuilder("gru_gates", {x, h, previous})
      .result(next, [gates, from_state, previous = previous.value(), rows, units](
                        OutputGradients g, GradientSink& into) {
        Tensor dx(gates.shape()), dh(gates.shape()), dprevious(previous.shape());
        parallel_for(rows, row_grain(units), [&](int64_t begin, int64_t end) {
          kernels::gru_backward({.rows = end - begin,
                                 .units = units,
                                 .gradient = g[0].data() + begin * units,
                                 .gates = gates.data() + begin * 3 * units,
                                 .from_state = from_state.data() + begin * units,
                                 .previous = previous.data() + begin * units,
                                 .dx = dx.data() + begin * 3 * units,
                                 .dh = dh.data() + begin * 3 * units,
                                 .dprevious = dprevious.data() + begin * units});
        });
        into.add(0, dx);
        into.add(1, dh);
        into.add(2, dprevious);
      });
}

LstmState lstm_gates(const Variable& x, const Variable& h, const Variable& previous_cell) {
  check("lstm_gates", x, h, previous_cell, 4);
  int64_t rows = previous_cell.size(0), units = previous_cell.size(1);
  Tensor gates(x.shape()), cell(previous_cell.shape()), next(previous_cell.shape());
  parallel_for(rows, row_grain(units), [&](int64_t begin, int64_t end) {
    kernels::lstm_forward({.rows = end - begin,
                           .units = units,
                           .x = x.value().data() + begin * 4 * units,
                           .h = h.value().data() + begin * 4 * units,
                           .previous_cell = previous_cell.value().data() + begin * units,
                           .gates = gates.data() + begin * 4 * units,
                           .next_cell = cell.data() + begin * units,
                           .next = next.data() + begin * units});
  });
  std::vector<Variable> out =
      GraphBuilder("lstm_gates", {x, h, previous_cell})
          .results({next, cell}, [gates, cell, previous = previous_cell.value(), rows, units](
                                     OutputGradients g, GradientSink& into) {
            Tensor zeros;
            if (!g[0].defined() || !g[1].defined()) zeros = Tensor::zeros(cell.shape());
            const Tensor& of_next = g[0].defined() ? g[0] : zeros;
            const Tensor& of_cell = g[1].defined() ? g[1] : zeros;
            Tensor dgates(gates.shape()), dprevious(cell.shape());
            parallel_for(rows, row_grain(units), [&](int64_t begin, int64_t end) {
              kernels::lstm_backward({.rows = end - begin,
                                      .units = units,
                                      .gradient = of_next.data() + begin * units,
                                      .cell_gradient = of_cell.data() + begin * units,
                                      .gates = gates.data() + begin * 4 * units,
                                      .previous_cell = previous.data() + begin * units,
                                      .next_cell = cell.data() + begin * units,
                                      .dgates = dgates.data() + begin * 4 * units,
                                      .dprevious_cell = dprevious.data() + begin * units});
            });
            into.add(0, dgates);
            into.add(1, dgates);
            into.add(2, dprevious);
          });
  return {out[0], out[1]};
}

}  // namespace lookback
