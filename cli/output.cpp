#include <unistd.h>

#include <cctype>
#include <cerrno>
#include <cmath>
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

std::string quoted(const std::string& word) {
  bool plain = !word.empty();
  for (char c : word)
    plain = plain && (std::isalnum(static_cast<unsigned char>(c)) || std::strchr("/._-=,:+@%", c));
  if (plain) return word;
  std::string out = "'";
  for (char c : word) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

std::string counted(int64_t count, const std::string& thing) {
  return format("{} {}{}", count, thing, count == 1 ? "" : "s");
}

void refuse_not_finite(double value, const std::string& model) {
  if (!std::isfinite(value))
    fail(
        "{}: its log-probabilities are not finite; its weights ran away in training, or the file is damaged",
        model);
}

namespace {
std::string program_name = "lookback";
}  // namespace

const std::string& program() {
  return program_name;
}

void set_program(const std::string& name) {
  program_name = name;
}

}  // namespace lookback::cli
