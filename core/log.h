#pragma once

#include <string>
#include <utility>

#include "core/error.h"

namespace lookback {

enum class LogLevel { kDetail, kInfo, kWarning, kError };

/// One line to standard error, and with a time stamp to the log file if one is open. Information
/// stands plain; `lookback: warning: ` and `lookback: error: ` lead the others; details go to the
/// file only. Safe from any thread.
void log_line(LogLevel level, const std::string& text);

template <class... Args>
void log_detail(fmt::format_string<Args...> text, Args&&... args) {
  log_line(LogLevel::kDetail, fmt::format(text, std::forward<Args>(args)...));
}
template <class... Args>
void log_info(fmt::format_string<Args...> text, Args&&... args) {
  log_line(LogLevel::kInfo, fmt::format(text, std::forward<Args>(args)...));
}
template <class... Args>
void log_warn(fmt::format_string<Args...> text, Args&&... args) {
  log_line(LogLevel::kWarning, fmt::format(text, std::forward<Args>(args)...));
}
template <class... Args>
void log_error(fmt::format_string<Args...> text, Args&&... args) {
  log_line(LogLevel::kError, fmt::format(text, std::forward<Args>(args)...));
}

/// Appends every later line to a file too (in place of one opened before), each written at once.
/// UserError where it cannot be opened. If it cannot be written later on (a full disk), a warning
/// says so once and the run goes on without it.
void log_to_file(const std::string& path);
void log_close_file();
/// Whether standard error is a terminal, which can show a status.
bool log_has_status();
/// A line that stays below all others on a terminal, cut to its width; other lines appear above it.
/// An empty one takes it away. Elsewhere nothing is shown.
void log_status(const std::string& text);
/// Leaves information out on standard error; warnings, errors, and the file stay whole.
void set_log_quiet(bool quiet);

}  // namespace lookback
