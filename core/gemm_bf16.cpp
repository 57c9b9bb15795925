#include "core/gemm_bf16.h"

#include "core/threads.h"

namespace lookback {
namespace {

Tensor room(int64_t count, RoundedMatrix::As as) {
  return Tensor({as == RoundedMatrix::As::kFloat ? count : (count + 1) / 2});
}

}  // namespace

RoundedMatrix::RoundedMatrix(const MatrixView& m, As as)
    : data_(room(m.rows * m.columns, as)),
      rows_(m.rows),
      columns_(m.columns),
      transposed_(m.transposed) {
  round({m.data, m.stride, m.rows}, 0, as);
}

RoundedMatrix::RoundedMatrix(std::span<const Rows> parts, int64_t columns, As as)
    : columns_(columns) {
  for (const Rows& part : parts) rows_ += part.count;
  data_ = room(rows_ * columns, as);
  int64_t first = 0;
  for (const Rows& part : parts) {
    round(part, first, as);
    first += part.count;
  }
}

void RoundedMatrix::round(const Rows& from, int64_t first, As as) {
  Real* floats = data_.data() + (as == As::kFloat ? first * columns_ : 0);
  Bf16* halves = reinterpret_cast<Bf16*>(data_.data()) + first * columns_;
  parallel_for(from.count, 1 + (1 << 15) / (columns_ + 1), [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      const Real* x = from.data + row * from.stride;
      if (as == As::kFloat)
        for (int64_t j = 0; j < columns_; ++j)
          floats[row * columns_ + j] = from_bf16(to_bf16(static_cast<float>(x[j])));
      else
        for (int64_t j = 0; j < columns_; ++j)
          halves[row * columns_ + j] = to_bf16(static_cast<float>(x[j]));
    }
  });
}

#ifdef LOOKBACK_DOUBLE
void gemm_bf16_one_thread(const Bf16View&, const Bf16View&, const MutableMatrix&,
                          const GemmOptions&) {}  // ProductsScope refuses it
#endif

}  // namespace lookback
