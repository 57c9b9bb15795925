#include "core/numbers.h"

#include <charconv>
#include <system_error>

namespace lookback {

namespace {

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

/// Digits from the front of the text are taken off; says how many.
size_t take_digits(std::string_view& text) {
  size_t count = 0;
  while (count < text.size() && is_digit(text[count])) ++count;
  text.remove_prefix(count);
  return count;
}

void take_sign(std::string_view& text) {
  if (!text.empty() && (text[0] == '+' || text[0] == '-')) text.remove_prefix(1);
}

template <class Number>
std::optional<Number> parse(std::string_view text) {
  if (!text.empty() && text[0] == '+') text.remove_prefix(1);  // from_chars knows only the minus
  Number value{};
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

bool is_whole(std::string_view text) {
  take_sign(text);
  return take_digits(text) > 0 && text.empty();
}

}  // namespace

bool is_number(std::string_view text) {
  take_sign(text);
  size_t digits = take_digits(text);
  if (!text.empty() && text[0] == '.') {
    text.remove_prefix(1);
    digits += take_digits(text);
  }
  if (digits == 0) return false;
  if (!text.empty() && (text[0] == 'e' || text[0] == 'E')) {
    text.remove_prefix(1);
    take_sign(text);
    if (take_digits(text) == 0) return false;
  }
  return text.empty();
}

std::optional<double> parse_number(std::string_view text) {
  if (!is_number(text)) return std::nullopt;
  return parse<double>(text);
}

std::optional<int64_t> parse_whole(std::string_view text) {
  if (!is_whole(text)) return std::nullopt;
  return parse<int64_t>(text);
}

std::optional<uint64_t> parse_unsigned(std::string_view text) {
  if (!is_whole(text) || text[0] == '-') return std::nullopt;
  return parse<uint64_t>(text);
}

std::string number_text(double value) {
  char buffer[32];
  auto [end, error] = std::to_chars(buffer, buffer + sizeof buffer, value);
  return std::string(buffer, end);
}

}  // namespace lookback
