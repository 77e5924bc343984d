// append(out, "{} of {}", a, b): formats to the end of a string. fmt::format_to does the same, but compiles
// all of fmt into each file that calls it: 3 seconds apiece.
#pragma once

#include <fmt/format.h>

#include <string>

namespace pooljit::ir {

template <typename... Args>
void append(std::string& out, fmt::format_string<Args...> format, Args&&... args) {
  out += fmt::vformat(format, fmt::make_format_args(args...));
}

}  // namespace pooljit::ir
