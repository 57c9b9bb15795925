#include "core/log.h"

#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/basic_file_sink.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <mutex>

namespace lookback {

namespace {

/// `%*` in the terminal's pattern: what leads a line of each level.
class LevelPrefix : public spdlog::custom_flag_formatter {
 public:
  void format(const spdlog::details::log_msg& message, const std::tm&,
              spdlog::memory_buf_t& out) override {
    std::string_view prefix;
    if (message.level == spdlog::level::warn) prefix = "lookback: warning: ";
    if (message.level == spdlog::level::err) prefix = "lookback: error: ";
    out.append(prefix.data(), prefix.data() + prefix.size());
  }
  std::unique_ptr<custom_flag_formatter> clone() const override {
    return std::make_unique<LevelPrefix>();
  }
};

struct Log {
  std::mutex mutex;
  spdlog::logger terminal;
  std::unique_ptr<spdlog::logger> file;
  std::string path, trouble;  // of the file
  std::string status;         // as shown now, already cut

  Log() : terminal("terminal", std::make_shared<spdlog::sinks::stderr_sink_st>()) {
    auto formatter = std::make_unique<spdlog::pattern_formatter>();
    formatter->add_flag<LevelPrefix>('*').set_pattern("%*%v");
    terminal.set_formatter(std::move(formatter));
    terminal.flush_on(spdlog::level::trace);
  }

  void write(spdlog::level::level_enum level, const std::string& text) {
    if (level > spdlog::level::debug) {
      erase_status();
      terminal.log(level, text);
      draw_status();
    }
    if (!file) return;
    file->log(std::max(level, spdlog::level::info), text);
    if (trouble.empty()) return;
    file.reset();
    erase_status();
    terminal.warn("the log goes on without its file {}: {}", path, trouble);
    draw_status();
    trouble.clear();
  }

  void erase_status() const {
    if (!status.empty()) std::fputs("\r\x1b[K", stderr);
  }
  void draw_status() const {
    std::fputs(status.c_str(), stderr);
    std::fflush(stderr);
  }
};

/// The text cut to fit one row of the terminal, so that it can be erased again.
std::string fitted(const std::string& text) {
  winsize size{};
  size_t columns =
      ::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 1 ? size.ws_col : 80;
  return text.substr(0, columns - 1);
}

Log& log() {
  static Log log;
  return log;
}

}  // namespace

void log_line(LogLevel level, const std::string& text) {
  spdlog::level::level_enum to = spdlog::level::info;
  if (level == LogLevel::kDetail) to = spdlog::level::debug;
  if (level == LogLevel::kWarning) to = spdlog::level::warn;
  if (level == LogLevel::kError) to = spdlog::level::err;
  std::lock_guard lock(log().mutex);
  log().write(to, text);
}

void log_to_file(const std::string& path) {
  std::lock_guard lock(log().mutex);
  if (std::filesystem::is_directory(path))
    fail_user("{}: the log cannot be written: it is a folder, not a file", path);
  std::unique_ptr<spdlog::logger> file;
  try {
    file = std::make_unique<spdlog::logger>(
        "file", std::make_shared<spdlog::sinks::basic_file_sink_st>(path));
  } catch (const spdlog::spdlog_ex& error) {
    fail_user("{}: the log cannot be written: {}", path, error.what());
  }
  file->set_pattern("%Y-%m-%d %H:%M:%S.%e %l: %v");
  file->flush_on(spdlog::level::trace);
  file->set_error_handler([](const std::string& text) { log().trouble = text; });
  log().file = std::move(file);
  log().path = path;
}

void log_close_file() {
  std::lock_guard lock(log().mutex);
  log().file.reset();
}

bool log_has_status() {
  return ::isatty(STDERR_FILENO) == 1;
}

void log_status(const std::string& text) {
  if (!log_has_status()) return;
  std::lock_guard lock(log().mutex);
  log().erase_status();
  log().status = fitted(text);
  log().draw_status();
}

void set_log_quiet(bool quiet) {
  std::lock_guard lock(log().mutex);
  log().terminal.set_level(quiet ? spdlog::level::warn : spdlog::level::info);
}

}  // namespace lookback
