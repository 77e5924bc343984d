// Numbers of which a text consists, all of it: "12", not "12 " or "+12".
#pragma once

#include <charconv>
#include <optional>
#include <string_view>
#include <system_error>

namespace pooljit::ir {

// format: as of std::from_chars. False: it is no such number, and what `number` is then is not said.
template <typename Number>
bool parse_number(std::string_view text, Number& number, auto... format) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, format...);
  return error == std::errc() && end == text.data() + text.size();
}

template <typename Number>
std::optional<Number> parse_number(std::string_view text, auto... format) {
  Number number{};
  return parse_number(text, number, format...) ? std::optional(number) : std::nullopt;
}

}  // namespace pooljit::ir
