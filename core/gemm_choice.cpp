#ifndef LOOKBACK_DOUBLE

#include "core/gemm_backend.h"
#include "core/kernels/panels.h"

namespace lookback {
namespace {

/// Laying out B costs as much as some four rows of the product; fewer rows than this are better off
/// without.
constexpr int64_t kFewRows = 8;

}  // namespace

void gemm_one_thread(const MatrixView& a, const MatrixView& b, const MutableMatrix& c,
                     const GemmOptions& options) {
  if (panels::suit_processor() && c.rows >= kFewRows)
    panels::multiply(a, b, c, options);
  else
    gemm_onednn(a, b, c, options);
}

void gemm_rows_one_thread(std::span<const Rows> a, std::span<const Rows> b, const MutableMatrix& c,
                          bool accumulate) {
  if (panels::suit_processor() && c.rows >= kFewRows)
    panels::multiply_rows(a, b, c, {.accumulate = accumulate});
  else
    gemm_parts(a, b, c, accumulate);
}

void gemm_panels(const MatrixView& a, const Panels& b, const MutableMatrix& c,
                 const GemmOptions& options) {
  panels::multiply(a, b, c, options);
}

int64_t panels_count(int64_t k, int64_t n) {
  return panels::suit_processor() ? panels::packed_count(k, n) : 0;
}

void lay_out_panels(const MatrixView& b, int64_t begin, int64_t end, Real* to) {
  panels::pack(b, begin, end, to);
}

}  // namespace lookback

#endif
