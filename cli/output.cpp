#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "cli/cli.h"
#include "core/error.h"

namespace lookback::cli {

void print(std::string_view text) {
  while (!text.empty()) {
    ssize_t written = ::write(STDOUT_FILENO, text.data(), text.size());
    if (written < 0) {
      if (errno == EINTR) continue;
      if (errno == EPIPE) throw ReaderGone();
      fail_user("standard output cannot be written: {}", std::strerror(errno));
    }
    text.remove_prefix(static_cast<size_t>(written));
  }
}

void print_json(const Json& json) {
  print(json_text(json) + "\n");
}

std::string read_standard_input() {
  std::string text;
  char buffer[65536];
  for (;;) {
    ssize_t got = ::read(STDIN_FILENO, buffer, sizeof buffer);
    if (got < 0) {
      if (errno == EINTR) continue;
      fail_user("standard input cannot be read: {}", std::strerror(errno));
    }
    if (got == 0) return text;
    text.append(buffer, static_cast<size_t>(got));
  }
}

std::string counted(int64_t count, const std::string& thing) {
  return format("{} {}{}", count, thing, count == 1 ? "" : "s");
}

}  // namespace lookback::cli
