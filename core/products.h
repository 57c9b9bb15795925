#pragma once

namespace lookback {

/// The numbers that matrix products multiply; they are added up as floats whichever it is.
enum class Products {
  kFloat,
  kBf16,  ///< operands rounded to bf16 (8 bits of precision, ties to even): half the bytes, and
          ///< twice the speed where the processor multiplies them itself
  kBf16InFloat,  ///< the same operands, multiplied as floats: what kBf16 gives but for the order of
                 ///< its sums, on any processor; for tests
};

/// Whether this processor multiplies bf16 numbers; else kBf16 is refused by ProductsScope.
bool bf16_products();

namespace detail {
/// Of this thread, and of the members of a team while they work for it (core/team.cpp).
inline constinit thread_local Products products = Products::kFloat;
}  // namespace detail

inline Products products() {
  return detail::products;
}

/// While it lives, the products of this thread, and of what it hands out, are these.
class ProductsScope {
 public:
  explicit ProductsScope(Products products);
  ~ProductsScope() { detail::products = before_; }
  ProductsScope(const ProductsScope&) = delete;
  ProductsScope& operator=(const ProductsScope&) = delete;

 private:
  Products before_;
};

}  // namespace lookback
