#include "core/kernels/gates.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "core/kernels/gates.cpp"
#include <hwy/foreach_target.h>
// The order matters: the lines above include this file again for each target.
#include "core/kernels/math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace lookback {
namespace HWY_NAMESPACE {

void GruForwardRows(const kernels::GruForward& a) {
  const int64_t n = a.units;
  for (int64_t row = 0; row < a.rows; ++row) {
    const Real* x = a.x + row * 3 * n;
    const Real* h = a.h + row * 3 * n;
    const Real* previous = a.previous + row * n;
    Real* gates = a.gates + row * 3 * n;
    Real* kept = a.from_state + row * n;
    Real* next = a.next + row * n;
    ForLanes(n, [&](auto d, int64_t j) HWY_ATTR {
      auto load = [&](const Real* p) HWY_ATTR { return hn::LoadU(d, p + j); };
      auto reset = VecSigmoid(d, hn::Add(load(x), load(h)));
      auto update = VecSigmoid(d, hn::Add(load(x + n), load(h + n)));
      auto from_state = load(h + 2 * n);
      auto fresh = VecTanh(d, hn::MulAdd(reset, from_state, load(x + 2 * n)));
      hn::StoreU(reset, d, gates + j);
      hn::StoreU(update, d, gates + n + j);
      hn::StoreU(fresh, d, gates + 2 * n + j);
      hn::StoreU(from_state, d, kept + j);
      hn::StoreU(hn::MulAdd(update, hn::Sub(load(previous), fresh), fresh), d, next + j);
    });
  }
}

void GruBackwardRows(const kernels::GruBackward& a) {
  const int64_t n = a.units;
  for (int64_t row = 0; row < a.rows; ++row) {
    const Real* gradient = a.gradient + row * n;
    const Real* gates = a.gates + row * 3 * n;
    const Real* from_state = a.from_state + row * n;
    const Real* previous = a.previous + row * n;
    Real* dx = a.dx + row * 3 * n;
    Real* dh = a.dh + row * 3 * n;
    Real* dprevious = a.dprevious + row * n;
    ForLanes(n, [&](auto d, int64_t j) HWY_ATTR {
      auto load = [&](const Real* p) HWY_ATTR { return hn::LoadU(d, p + j); };
      const auto one = hn::Set(d, Real{1});
      auto g = load(gradient), reset = load(gates), update = load(gates + n),
           fresh = load(gates + 2 * n);
      auto dfresh = hn::Mul(hn::Mul(g, hn::Sub(one, update)), hn::NegMulAdd(fresh, fresh, one));
      auto dupdate = hn::Mul(hn::Mul(g, hn::Sub(load(previous), fresh)),
                             hn::Mul(update, hn::Sub(one, update)));
      auto dreset = hn::Mul(hn::Mul(dfresh, load(from_state)), hn::Mul(reset, hn::Sub(one, reset)));
      hn::StoreU(dreset, d, dx + j);
      hn::StoreU(dupdate, d, dx + n + j);
      hn::StoreU(dfresh, d, dx + 2 * n + j);
      hn::StoreU(dreset, d, dh + j);
      hn::StoreU(dupdate, d, dh + n + j);
      hn::StoreU(hn::Mul(dfresh, reset), d, dh + 2 * n + j);
      hn::StoreU(hn::Mul(g, update), d, dprevious + j);
    });
  }
}

void LstmForwardRows(const kernels::LstmForward& a) {
  const int64_t n = a.units;
  for (int64_t row = 0; row < a.rows; ++row) {
    const Real* x = a.x + row * 4 * n;
    const Real* h = a.h + row * 4 * n;
    const Real* previous = a.previous_cell + row * n;
    Real* gates = a.gates + row * 4 * n;
    Real* next_cell = a.next_cell + row * n;
    Real* next = a.next + row * n;
    ForLanes(n, [&](auto d, int64_t j) HWY_ATTR {
      auto sum = [&](int64_t gate) HWY_ATTR {
        return hn::Add(hn::LoadU(d, x + gate * n + j), hn::LoadU(d, h + gate * n + j));
      };
      auto input = VecSigmoid(d, sum(0)), forget = VecSigmoid(d, sum(1));
      auto fresh = VecTanh(d, sum(2)), output = VecSigmoid(d, sum(3));
      auto cell = hn::MulAdd(forget, hn::LoadU(d, previous + j), hn::Mul(input, fresh));
      hn::StoreU(input, d, gates + j);
      hn::StoreU(forget, d, gates + n + j);
      hn::StoreU(fresh, d, gates + 2 * n + j);
      hn::StoreU(output, d, gates + 3 * n + j);
      hn::StoreU(cell, d, next_cell + j);
      hn::StoreU(hn::Mul(output, VecTanh(d, cell)), d, next + j);
    });
  }
}

void LstmBackwardRows(const kernels::LstmBackward& a) {
  const int64_t n = a.units;
  for (int64_t row = 0; row < a.rows; ++row) {
    const Real* gradient = a.gradient + row * n;
    const Real* cell_gradient = a.cell_gradient + row * n;
    const Real* gates = a.gates + row * 4 * n;
    const Real* previous = a.previous_cell + row * n;
    const Real* next = a.next_cell + row * n;
    Real* dgates = a.dgates + row * 4 * n;
    Real* dprevious = a.dprevious_cell + row * n;
    ForLanes(n, [&](auto d, int64_t j) HWY_ATTR {
      auto load = [&](const Real* p) HWY_ATTR { return hn::LoadU(d, p + j); };
      const auto one = hn::Set(d, Real{1});
      auto g = load(gradient), input = load(gates), forget = load(gates + n);
      auto fresh = load(gates + 2 * n), output = load(gates + 3 * n);
      auto squashed = VecTanh(d, load(next));
      auto u = hn::MulAdd(hn::Mul(g, output), hn::NegMulAdd(squashed, squashed, one),
                          load(cell_gradient));
      auto slope = [&](auto gate) HWY_ATTR { return hn::Mul(gate, hn::Sub(one, gate)); };
      hn::StoreU(hn::Mul(hn::Mul(u, fresh), slope(input)), d, dgates + j);
      hn::StoreU(hn::Mul(hn::Mul(u, load(previous)), slope(forget)), d, dgates + n + j);
      hn::StoreU(hn::Mul(hn::Mul(u, input), hn::NegMulAdd(fresh, fresh, one)), d,
                 dgates + 2 * n + j);
      hn::StoreU(hn::Mul(hn::Mul(g, squashed), slope(output)), d, dgates + 3 * n + j);
      hn::StoreU(hn::Mul(u, forget), d, dprevious + j);
    });
  }
}

void RnnForwardAll(int64_t count, const Real* x, const Real* h, Real* next) {
  ForLanes(count, [&](auto d, int64_t j) HWY_ATTR {
    hn::StoreU(VecTanh(d, hn::Add(hn::LoadU(d, x + j), hn::LoadU(d, h + j))), d, next + j);
  });
}

void RnnBackwardAll(int64_t count, const Real* gradient, const Real* next, Real* out) {
  ForLanes(count, [&](auto d, int64_t j) HWY_ATTR {
    auto y = hn::LoadU(d, next + j);
    auto slope = hn::NegMulAdd(y, y, hn::Set(d, Real{1}));
    hn::StoreU(hn::Mul(hn::LoadU(d, gradient + j), slope), d, out + j);
  });
}

}  // namespace HWY_NAMESPACE
}  // namespace lookback
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace lookback {
HWY_EXPORT(GruForwardRows);
HWY_EXPORT(GruBackwardRows);
HWY_EXPORT(LstmForwardRows);
HWY_EXPORT(LstmBackwardRows);
HWY_EXPORT(RnnForwardAll);
HWY_EXPORT(RnnBackwardAll);

namespace kernels {

void gru_forward(const GruForward& a) {
  HWY_DYNAMIC_DISPATCH(GruForwardRows)(a);
}
void gru_backward(const GruBackward& a) {
  HWY_DYNAMIC_DISPATCH(GruBackwardRows)(a);
}
void lstm_forward(const LstmForward& a) {
  HWY_DYNAMIC_DISPATCH(LstmForwardRows)(a);
}
void lstm_backward(const LstmBackward& a) {
  HWY_DYNAMIC_DISPATCH(LstmBackwardRows)(a);
}
void rnn_forward(int64_t count, const Real* x, const Real* h, Real* next) {
  HWY_DYNAMIC_DISPATCH(RnnForwardAll)(count, x, h, next);
}
void rnn_backward(int64_t count, const Real* gradient, const Real* next, Real* d) {
  HWY_DYNAMIC_DISPATCH(RnnBackwardAll)(count, gradient, next, d);
}

}  // namespace kernels
}  // namespace lookback
#endif
