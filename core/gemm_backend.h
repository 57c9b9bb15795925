#pragma once

#include "core/gemm.h"

namespace lookback {

/// One product on the calling thread, sizes already checked and above zero: by oneDNN in the float
/// build, by plain loops in the double build. Only gemm() calls it.
void gemm_one_thread(const MatrixView& a, const MatrixView& b, const MutableMatrix& c,
                     const GemmOptions& options);

}  // namespace lookback
