#pragma once

#include <string>

#include "core/error.h"

namespace lookback::testing {

/// The text of the Error that `body` throws; says so when it throws none.
template <class Body>
std::string error_text(Body&& body) {
  try {
    body();
  } catch (const Error& error) {
    return error.what();
  }
  return "(no error was thrown)";
}

}  // namespace lookback::testing
