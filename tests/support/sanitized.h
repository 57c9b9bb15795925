#pragma once

namespace lookback::testing {

/// Whether the sanitizers watch, which makes a test some ten times slower: one that looks for numbers
/// alone, and takes minutes then, is left to the release build.
#ifdef __SANITIZE_ADDRESS__
constexpr bool kSanitized = true;
#else
constexpr bool kSanitized = false;
#endif

}  // namespace lookback::testing
