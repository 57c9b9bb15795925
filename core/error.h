#pragma once

#include <fmt/core.h>

#include <stdexcept>
#include <string>
#include <utility>

namespace lookback {

/// A run that failed: a broken contract inside a program, a disk that fails. The command line
/// ends with 1.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// A mistake that the user can mend: config, data, weights, arguments, a full disk. The command line ends
/// with 2.
class UserError : public Error {
 public:
  using Error::Error;
};

using fmt::format;

/// Throws Error. The text says what was wrong, where, and what would be right:
/// `[matmul] inner sizes differ: (64, 256) x (512, 1000); 256 must equal 512`.
template <class... Args>
[[noreturn]] void fail(fmt::format_string<Args...> text, Args&&... args) {
  throw Error(fmt::format(text, std::forward<Args>(args)...));
}

/// Throws UserError, for one line that names file, line and the remedy.
template <class... Args>
[[noreturn]] void fail_user(fmt::format_string<Args...> text, Args&&... args) {
  throw UserError(fmt::format(text, std::forward<Args>(args)...));
}

}  // namespace lookback
