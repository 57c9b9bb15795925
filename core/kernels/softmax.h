#pragma once

#include <cstdint>

#include "core/real.h"

namespace lookback::kernels {

/// y = softmax(x) over `count` scores of one row; where `allowed` (may be null) is 0 the weight is
/// exactly 0 and the score is not read. A row that allows nothing gives zeros.
void softmax(const Real* x, const uint8_t* allowed, Real* y, int64_t count);

/// softmax(scale x) in place, of `count` scores of one row, at least one; scale above 0.
void scaled_softmax(Real scale, Real* x, int64_t count);

/// log sum_j e^(x_j), stable for scores of any size.
Real log_sum_exp(const Real* x, int64_t count);

/// y = scale * e^(x - shift), as the gradient of a cross entropy needs it: Below -87 the power is 0, past 88
/// infinity or NaN.
void scaled_exp(const Real* x, Real shift, Real scale, Real* y, int64_t count);

/// Through softmax and scale: d_j becomes scale y_j (d_j - inner), inner = sum_k y_k d_k.
void softmax_gradient(const Real* y, Real inner, Real scale, Real* d, int64_t count);

/// The largest of `count` scores; -infinity of none. A NaN may go unnoticed.
Real largest(const Real* x, int64_t count);

/// y = e^(scale x - shift), and their sum: what attention needs that works on its scores in parts.
/// Below e^-87 it is 0, past e^88 infinity or NaN. A NaN makes the sum NaN.
Real exp_sum(const Real* x, Real scale, Real shift, Real* y, int64_t count);

}  // namespace lookback::kernels
