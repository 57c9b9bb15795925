#pragma once

#include <span>

#include "core/ids.h"
#include "core/tensor.h"

namespace lookback {

/// out_i = row index[i] of a table of `width` columns.
void gather_rows(const Real* table, std::span<const Id> index, int64_t width, Real* out);
/// Row index[i] of the table += row i, in the order of i.
void scatter_add_rows(const Real* rows, std::span<const Id> index, int64_t width, Real* table);

}  // namespace lookback
