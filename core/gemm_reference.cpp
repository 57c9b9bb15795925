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

void gemm_rows_one_thread(std::span<const Rows> a, std::span<const Rows> b, const MutableMatrix& c,
                          bool accumulate) {
  gemm_parts(a, b, c, accumulate);
}

std::string onednn_version() {
  return {};
}

// Nothing is laid out for plain loops.
int64_t panels_count(int64_t, int64_t) {
  return 0;
}
void lay_out_panels(const MatrixView&, int64_t, int64_t, Real*) {}
void gemm_panels(const MatrixView&, const Panels&, const MutableMatrix&, const GemmOptions&) {}

}  // namespace lookback

#endif
