#ifdef LOOKBACK_DOUBLE

#include "core/gemm_backend.h"

namespace lookback {

void gemm_one_thread(const MatrixView& a, const MatrixView& b, const MutableMatrix& c,
                     const GemmOptions& options) {
  int64_t k = a.transposed ? a.rows : a.columns;
  for (int64_t i = 0; i < c.rows; ++i) {
    Real* row = c.data + i * c.stride;
    for (int64_t j = 0; j < c.columns && !options.accumulate; ++j)
      row[j] = options.bias ? options.bias[j] : 0;
    for (int64_t l = 0; l < k; ++l) {
      Real left = a.transposed ? a.data[l * a.stride + i] : a.data[i * a.stride + l];
      for (int64_t j = 0; j < c.columns; ++j)
        row[j] += left * (b.transposed ? b.data[j * b.stride + l] : b.data[l * b.stride + j]);
    }
  }
}

}  // namespace lookback

#endif
