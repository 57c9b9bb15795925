#pragma once

#include <cstdint>

#include "core/real.h"

namespace lookback::kernels {

// The pointwise halves of the recurrent cells, on the calling thread. Gate blocks lie side by side
// in each row, in PyTorch's order. `rows` sentences, D units.

/// GRU, gates r, z, n of (rows, 3D):
///     r = sigmoid(x_r + h_r)   z = sigmoid(x_z + h_z)   n = tanh(x_n + r * h_n)
///     h' = (1 - z) n + z h
/// x = W_ih x_t + b_ih, h = W_hh h_(t-1) + b_hh. Writes r, z, n to `gates` (may be `x`) and h_n,
/// which backward needs, to `from_state` (rows, D).
struct GruForward {
  int64_t rows, units;
  const Real* x;         // (rows, 3D)
  const Real* h;         // (rows, 3D)
  const Real* previous;  // (rows, D)
  Real* gates;           // (rows, 3D)
  Real* from_state;      // (rows, D)
  Real* next;            // (rows, D)
};
void gru_forward(const GruForward& a);

/// With g = d loss / d h':
///     dx_n = g (1 - z) (1 - n^2)   dx_z = g (h - n) z (1 - z)   dx_r = dx_n h_n r (1 - r)
///     dh_r = dx_r   dh_z = dx_z   dh_n = dx_n r   d previous = g z
/// (of `previous` the part that does not pass W_hh)
struct GruBackward {
  int64_t rows, units;
  const Real* gradient;    // (rows, D)
  const Real* gates;       // (rows, 3D)
  const Real* from_state;  // (rows, D)
  const Real* previous;    // (rows, D)
  Real* dx;                // (rows, 3D)
  Real* dh;                // (rows, 3D)
  Real* dprevious;         // (rows, D); may be `gradient`
};
void gru_backward(const GruBackward& a);

/// LSTM, gates i, f, g, o of (rows, 4D):
///     i, f, o = sigmoid(x + h)   g = tanh(x_g + h_g)   c' = f c + i g   h' = o tanh(c')
/// Writes i, f, g, o to `gates` (may be `x`).
struct LstmForward {
  int64_t rows, units;
  const Real* x;              // (rows, 4D)
  const Real* h;              // (rows, 4D)
  const Real* previous_cell;  // (rows, D)
  Real* gates;                // (rows, 4D)
  Real* next_cell;            // (rows, D)
  Real* next;                 // (rows, D)
};
void lstm_forward(const LstmForward& a);

/// With g = d loss / d h' and k = d loss / d c', u = k + g o (1 - tanh(c')^2):
///     di = u g i (1 - i)   df = u c f (1 - f)   dg = u i (1 - g^2)
///     do = g tanh(c') o (1 - o)   dc = u f
struct LstmBackward {
  int64_t rows, units;
  const Real* gradient;       // (rows, D), of h'
  const Real* cell_gradient;  // (rows, D), of c'
  const Real* gates;          // (rows, 4D)
  const Real* previous_cell;  // (rows, D)
  const Real* next_cell;      // (rows, D)
  Real* dgates;               // (rows, 4D), for x and h alike
  Real* dprevious_cell;       // (rows, D); may be `cell_gradient`
};
void lstm_backward(const LstmBackward& a);

/// Vanilla cell: h' = tanh(x + h), and its backward: d = g (1 - h'^2), for x and h alike.
void rnn_forward(int64_t count, const Real* x, const Real* h, Real* next);
void rnn_backward(int64_t count, const Real* gradient, const Real* next, Real* d);

}  // namespace lookback::kernels
