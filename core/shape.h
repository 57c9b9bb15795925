#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <string>

namespace lookback {

/// The sizes of a tensor's dimensions, outermost first: (B, S, D). At most six; a scalar has none.
class Shape {
 public:
  static constexpr int kMaxRank = 6;

  Shape() = default;
  Shape(std::initializer_list<int64_t> sizes);

  int rank() const { return rank_; }
  /// Size of one dimension; negative counts from the last (-1). Throws when there is no such
  /// dimension.
  int64_t operator[](int dim) const;
  void set(int dim, int64_t size);
  /// Number of elements: the product of all sizes, 1 for a scalar.
  int64_t count() const;
  /// Product of all sizes but the last: how many rows a tensor has when seen as a matrix.
  int64_t rows() const;
  /// The last size, 1 for a scalar.
  int64_t columns() const { return rank_ == 0 ? 1 : sizes_[rank_ - 1]; }
  /// Where a possibly negative dimension stands, checked.
  int axis(int dim) const;

  void append(int64_t size);
  bool operator==(const Shape& other) const;
  bool operator!=(const Shape& other) const { return !(*this == other); }
  std::string text() const;  ///< `(64, 30, 256)`

 private:
  std::array<int64_t, kMaxRank> sizes_{};
  int rank_ = 0;
};

/// The shape that NumPy's broadcasting gives two operands; throws `[op] ...` where they do not fit.
Shape broadcast(const char* op, const Shape& a, const Shape& b);

}  // namespace lookback
