#pragma once

#include <cstdint>

#include "core/real.h"

namespace lookback::kernels {

/// Additive scores of one query against `length` keys of A units:
///     e_j = sum_a v_a tanh(q_a + k_ja)
/// Positions with allowed[j] == 0 (allowed may be null) are not read and their score is left as it
/// is.
void additive_scores(const Real* query, const Real* keys, const Real* v, const uint8_t* allowed,
                     int64_t length, int64_t units, Real* scores);

/// Its backward, with t = tanh(q + k) computed again rather than kept, d_j = d loss / d e_j:
///     dq_a += d_j v_a (1 - t^2)   dk_ja += the same   dv_a += d_j t
struct AdditiveBackward {
  const Real* query;  // (A)
  const Real* keys;   // (length, A)
  const Real* v;      // (A)
  const Real* d;      // (length); exactly 0 where masked
  int64_t length, units;
  Real* dquery;  // (A)
  Real* dkeys;   // (length, A)
  Real* dv;      // (A)
};
void additive_scores_backward(const AdditiveBackward& a);

/// The same two where query and keys hold e^(2q) and e^(2k), each finite and above 0:
///     tanh(q + k) = 1 - 2 / (1 + e^(2q) e^(2k))
/// Half a division is all that is left of each tanh. (Its error is 2e-7 of 1, not of tanh itself; that of
/// its slope, 1 - tanh^2, likewise.)
void additive_scores_by_exponentials(const Real* query, const Real* keys, const Real* v,
                                     const uint8_t* allowed, int64_t length, int64_t units,
                                     Real* scores);
void additive_scores_by_exponentials_backward(const AdditiveBackward& a);

/// e^(2x) of `count` numbers, which additive_scores_by_exponentials() takes; false, and nothing that
/// counts, where one of them is no number or so large that the other's part would be lost.
bool additive_exponentials(const Real* x, Real* y, int64_t count);

}  // namespace lookback::kernels
