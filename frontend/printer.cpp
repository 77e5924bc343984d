#include "frontend/printer.h"

namespace pooljit::frontend {

// In a file of its own: formatting into a plain array compiles all of fmt into the file that does it.
Printer& Printer::number(double value) {
  std::array<char, 32> digits;
  const auto end = fmt::format_to(digits.begin(), "{}", value);
  return text({digits.data(), static_cast<size_t>(end - digits.begin())});
}

}  // namespace pooljit::frontend
