#include "core/products.h"

#include "core/error.h"
#include "core/real.h"

namespace lookback {

bool bf16_products() {
#if defined(__x86_64__) && !defined(LOOKBACK_DOUBLE)
  static const bool has =
      __builtin_cpu_supports("avx512bf16") && __builtin_cpu_supports("avx512bw");
  return has;
#else
  return false;
#endif
}

ProductsScope::ProductsScope(Products products) : before_(detail::products) {
  if (products == Products::kBf16 && !bf16_products())
    fail("[products] this processor does not multiply bf16 numbers");
  if (products != Products::kFloat && sizeof(Real) == 8)
    fail("[products] the double build multiplies doubles alone");
  detail::products = products;
}

}  // namespace lookback
