#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace lookback {

/// Whether a text has a number's form: `5`, `-1`, `.001`, `1.0e-3`. No `1_000`, `0x10`, `inf`,
/// `nan`.
bool is_number(std::string_view text);
/// The value of a text with a number's form; nothing where a double cannot hold it (`1e999`) or
/// where the text is no number. Independent of the locale.
std::optional<double> parse_number(std::string_view text);
/// Decimal digits with at most a sign; nothing where 64 bits do not suffice.
std::optional<int64_t> parse_whole(std::string_view text);
std::optional<uint64_t> parse_unsigned(std::string_view text);
/// The shortest text that parse_number reads back as the same double.
std::string number_text(double value);

}  // namespace lookback
