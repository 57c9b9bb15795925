#include "core/shape.h"

#include <algorithm>

#include "core/error.h"

namespace lookback {

Shape::Shape(std::initializer_list<int64_t> sizes) {
  for (int64_t size : sizes) append(size);
}

void Shape::append(int64_t size) {
  if (rank_ == kMaxRank) fail("[shape] more than {} dimensions", kMaxRank);
  if (size < 0) fail("[shape] size {} of dimension {} is negative", size, rank_);
  sizes_[rank_++] = size;
}

int Shape::axis(int dim) const {
  int at = dim < 0 ? dim + rank_ : dim;
  if (at < 0 || at >= rank_)
    fail("[shape] dimension {} does not exist in {}, which has {}", dim, text(), rank_);
  return at;
}

int64_t Shape::operator[](int dim) const {
  return sizes_[axis(dim)];
}

void Shape::set(int dim, int64_t size) {
  if (size < 0) fail("[shape] size {} of dimension {} is negative", size, dim);
  sizes_[axis(dim)] = size;
}

int64_t Shape::count() const {
  int64_t n = 1;
  for (int i = 0; i < rank_; ++i) n *= sizes_[i];
  return n;
}

int64_t Shape::rows() const {
  int64_t n = 1;
  for (int i = 0; i + 1 < rank_; ++i) n *= sizes_[i];
  return n;
}

bool Shape::operator==(const Shape& other) const {
  return rank_ == other.rank_ &&
         std::equal(sizes_.begin(), sizes_.begin() + rank_, other.sizes_.begin());
}

std::string Shape::text() const {
  std::string out = "(";
  for (int i = 0; i < rank_; ++i) out += (i ? ", " : "") + std::to_string(sizes_[i]);
  return out + ")";
}

Shape broadcast(const char* op, const Shape& a, const Shape& b) {
  int rank = std::max(a.rank(), b.rank());
  Shape out;
  for (int i = 0; i < rank; ++i) {
    int from_a = i - (rank - a.rank()), from_b = i - (rank - b.rank());
    int64_t in_a = from_a < 0 ? 1 : a[from_a], in_b = from_b < 0 ? 1 : b[from_b];
    if (in_a != in_b && in_a != 1 && in_b != 1)
      fail("[{}] shapes {} and {} do not broadcast: {} and {} in dimension {} must be equal or 1",
           op, a.text(), b.text(), in_a, in_b, i);
    out.append(in_a == 1 ? in_b : in_a);
  }
  return out;
}

}  // namespace lookback
