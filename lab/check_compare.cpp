#include "lab/check_compare.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>

#include "ir/element_type.h"
#include "lab/check_data.h"
#include "lab/elements.h"

namespace pooljit::runtime {
namespace {

// The bits of an element of up to 8 bytes.
uint64_t bits_at(std::span<const std::byte> memory, int64_t offset, int64_t bytes) {
  uint64_t bits = 0;
  std::memcpy(&bits, &memory[size_t(offset)], size_t(bytes));
  return bits;
}

bool is_nan(ir::DType dtype, uint64_t bits) {
  return ir::with_element_type(dtype, [&]<typename T>(T element) {
    std::memcpy(&element, &bits, sizeof element);
    return element != element;
  });
}

std::string show(ir::DType dtype, uint64_t bits) {
  if (!ir::is_float(dtype)) return std::to_string(ir::lane_bits(dtype, static_cast<int64_t>(bits)));
  return fmt::format("{} (0x{:0{}x})", decimal_text(dtype, bits), bits, 2 * ir::bytes(dtype));
}

std::string position(const MemoryView& view, int64_t number) {
  std::vector<int64_t> at(view.rank);
  for (size_t d = view.rank; d-- > 0;) {
    at[d] = number % view.dims()[d].extent;
    number /= view.dims()[d].extent;
  }
  return fmt::format("[{}]", fmt::join(at, ","));
}

}  // namespace

std::vector<bool> element_bytes(const MemoryView& view) {
  const int64_t span = view.span_bytes();
  if (view.element_count() * view.element_bytes == span) return {};
  std::vector<bool> flags(static_cast<size_t>(span), false);
  for_each_element(view,
                   [&](int64_t offset) { std::fill_n(flags.begin() + offset, view.element_bytes, true); });
  return flags;
}

std::optional<std::string> first_difference(const Comparison& comparison, const MemoryView& view,
                                            std::span<const std::byte> expected,
                                            std::span<const std::byte> actual) {
  if (std::ranges::equal(expected, actual)) return std::nullopt;
  std::optional<std::string> difference;
  int64_t number = 0;
  for_each_element(view, [&](int64_t offset) {
    const int64_t at = number++;
    const uint64_t want = bits_at(expected, offset, view.element_bytes);
    const uint64_t got = bits_at(actual, offset, view.element_bytes);
    if (difference || want == got) return;
    if (comparison.nans_are_equal && is_nan(comparison.dtype, want) && is_nan(comparison.dtype, got)) return;
    difference = fmt::format("{} {} is {}, expected {}", comparison.what, position(view, at),
                             show(comparison.dtype, got), show(comparison.dtype, want));
  });
  if (difference) return difference;
  const std::vector<bool> flags = element_bytes(view);
  for (size_t i = 0; i < flags.size(); ++i)
    if (!flags[i] && expected[i] != actual[i])
      return fmt::format("byte {} of the {}'s buffer lies in a gap and was written", i, comparison.what);
  return std::nullopt;
}

}  // namespace pooljit::runtime
