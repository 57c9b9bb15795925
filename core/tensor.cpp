#include "core/tensor.h"

#include <algorithm>

#include "core/allocator.h"
#include "core/error.h"

namespace lookback {

namespace {

/// The bytes that a shape's elements take; a product past 2^63 is no size but an error.
size_t bytes_of(const Shape& shape) {
  int64_t bytes = sizeof(Real);
  for (int i = 0; i < shape.rank(); ++i)
    if (shape[i] == 0) return 0;
  for (int i = 0; i < shape.rank(); ++i)
    if (__builtin_mul_overflow(bytes, shape[i], &bytes))
      fail("[tensor] shape {} has too many elements", shape.text());
  return static_cast<size_t>(bytes);
}

}  // namespace

Tensor::Tensor(const Shape& shape) : shape_(shape) {
  void* block = cached_allocate(bytes_of(shape));
  buffer_ = std::shared_ptr<void>(block, cached_release, CachedAllocator<char>());
  data_ = static_cast<Real*>(block);
}

Tensor Tensor::zeros(const Shape& shape) {
  return full(shape, 0);
}

Tensor Tensor::full(const Shape& shape, Real value) {
  Tensor out(shape);
  out.fill(value);
  return out;
}

Tensor Tensor::from(const Shape& shape, std::span<const Real> values) {
  if (static_cast<int64_t>(values.size()) != shape.count())
    fail("[tensor] {} values do not fill shape {}, which has {}", values.size(), shape.text(),
         shape.count());
  Tensor out(shape);
  std::copy(values.begin(), values.end(), out.data_);
  return out;
}

Tensor Tensor::from(const Shape& shape, std::initializer_list<Real> values) {
  return from(shape, std::span<const Real>(values.begin(), values.size()));
}

Tensor Tensor::scalar(Real value) {
  return full({}, value);
}

Real Tensor::item() const {
  if (count() != 1) fail("[item] shape {} has {} elements, not one", shape_.text(), count());
  return data_[0];
}

Real Tensor::at(std::initializer_list<int64_t> index) const {
  if (static_cast<int>(index.size()) != rank())
    fail("[at] {} indices for shape {}", index.size(), shape_.text());
  int64_t offset = 0;
  int dim = 0;
  for (int64_t i : index) {
    if (i < 0 || i >= shape_[dim])
      fail("[at] index {} is outside dimension {} of {}", i, dim, shape_.text());
    offset = offset * shape_[dim++] + i;
  }
  return data_[offset];
}

Tensor Tensor::reshape(const Shape& shape) const {
  if (shape.count() != count())
    fail("[reshape] {} has {} elements, {} has {}", shape_.text(), count(), shape.text(),
         shape.count());
  Tensor out = *this;
  out.shape_ = shape;
  return out;
}

Tensor Tensor::rows(int64_t begin, int64_t length) const {
  if (begin < 0 || length < 0 || begin + length > shape_[0])
    fail("[rows] rows {} to {} are outside {}", begin, begin + length, shape_.text());
  Tensor out = *this;
  int64_t row = shape_[0] == 0 ? 0 : count() / shape_[0];
  out.shape_.set(0, length);
  out.data_ = data_ + begin * row;
  return out;
}

Tensor Tensor::take(std::span<const int64_t> which) const {
  Shape shape = shape_;
  shape.set(0, static_cast<int64_t>(which.size()));
  Tensor out(shape);
  int64_t row = shape_[0] == 0 ? 0 : count() / shape_[0];
  for (size_t i = 0; i < which.size(); ++i) {
    if (which[i] < 0 || which[i] >= shape_[0])
      fail("[take] there is no row {} in {}", which[i], shape_.text());
    std::copy_n(data_ + which[i] * row, row, out.data_ + static_cast<int64_t>(i) * row);
  }
  return out;
}

Tensor Tensor::clone() const {
  Tensor out(shape_);
  std::copy_n(data_, count(), out.data_);
  return out;
}

void Tensor::fill(Real value) {
  std::fill_n(data_, count(), value);
}

void Tensor::copy_from(const Tensor& other) {
  if (other.shape_ != shape_)
    fail("[copy] shape {} cannot be copied into {}", other.shape_.text(), shape_.text());
  std::copy_n(other.data_, count(), data_);
}

}  // namespace lookback
