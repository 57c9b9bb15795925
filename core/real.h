#pragma once

namespace lookback {

/// The one real type of tensors, parameters and gradients. The library is built twice: with float,
/// whose products run on oneDNN or on panels of our own (core/gemm.h), and with double (LOOKBACK_DOUBLE) and a plain reference product,
/// in which gradients are held against central differences. The two builds share every line of
/// model code.
#ifdef LOOKBACK_DOUBLE
using Real = double;
#else
using Real = float;
#endif

}  // namespace lookback
