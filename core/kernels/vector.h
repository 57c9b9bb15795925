#pragma once

#include <cstdint>

#include "core/real.h"

namespace lookback::kernels {

/// The inner product of two rows of `count` elements.
Real dot(const Real* a, const Real* b, int64_t count);

/// sum += weight * row
void add_scaled(Real weight, const Real* row, Real* sum, int64_t count);

/// What one row does with many rows of `width` elements, `stride` apart; four of them at a time, so that
/// the next come from memory while these are worked on.
struct ManyRows {
  const Real* data;
  int64_t stride, count, width;
};
/// Rows that stand anywhere: row i at places[i] + offset.
struct PlacedRows {
  const Real* const* places;
  int64_t offset, count, width;
};
/// out[i] = row . rows_i, the same bits whichever rows it is asked with: a sentence's scores do not depend on the
/// batch.
void dots(const Real* row, const ManyRows& rows, Real* out);
void dots(const Real* row, const PlacedRows& rows, Real* out);
/// sum += sum_i weights[i] rows_i. A row of weight 0 is not read: it may hold anything.
void add_weighted(const Real* weights, const ManyRows& rows, Real* sum);
void add_weighted(const Real* weights, const PlacedRows& rows, Real* sum);

/// row *= factor
void multiply(Real factor, Real* row, int64_t count);

/// Whether all elements of `rows` rows, `stride` elements apart, are finite.
bool all_finite(const Real* x, int64_t rows, int64_t count, int64_t stride);

}  // namespace lookback::kernels
