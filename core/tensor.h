#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "core/real.h"
#include "core/shape.h"

namespace lookback {

/// A dense row-major array of Real with a shape. Copying a Tensor shares its buffer (as a handle
/// does); clone() copies the elements. A default-made Tensor is undefined: it has no buffer.
///
/// A new tensor's elements are *not* initialised unless a maker says so: most are written whole by
/// a kernel.
class Tensor {
 public:
  Tensor() = default;
  explicit Tensor(const Shape& shape);

  static Tensor zeros(const Shape& shape);
  static Tensor full(const Shape& shape, Real value);
  /// Elements in row-major order; their number must be the shape's.
  static Tensor from(const Shape& shape, std::span<const Real> values);
  static Tensor from(const Shape& shape, std::initializer_list<Real> values);
  static Tensor scalar(Real value);

  bool defined() const { return buffer_ != nullptr; }
  const Shape& shape() const { return shape_; }
  int rank() const { return shape_.rank(); }
  int64_t size(int dim) const { return shape_[dim]; }
  int64_t count() const { return shape_.count(); }

  const Real* data() const { return data_; }
  Real* data() { return data_; }
  std::span<const Real> values() const { return {data_, static_cast<size_t>(count())}; }
  std::span<Real> values() { return {data_, static_cast<size_t>(count())}; }
  /// The only element of a tensor with one element.
  Real item() const;
  Real at(std::initializer_list<int64_t> index) const;

  /// The same buffer under another shape with as many elements.
  Tensor reshape(const Shape& shape) const;
  /// Rows [begin, begin + length) of the first dimension, sharing the buffer.
  Tensor rows(int64_t begin, int64_t length) const;
  /// A copy of these rows of the first dimension, in this order; one may come several times.
  Tensor take(std::span<const int64_t> which) const;
  Tensor clone() const;
  void fill(Real value);
  void copy_from(const Tensor& other);

  /// Whether this handle is the only one on its buffer, so that writing it disturbs nobody.
  bool unique() const { return buffer_.use_count() == 1; }
  bool shares_buffer(const Tensor& other) const { return buffer_ == other.buffer_; }

 private:
  Shape shape_;
  std::shared_ptr<void> buffer_;
  Real* data_ = nullptr;
};

}  // namespace lookback
