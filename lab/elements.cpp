#include "lab/elements.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>
#include <optional>

#include "ir/element_type.h"
#include "lab/check_data.h"
#include "ir/parse_number.h"

namespace pooljit::runtime {
namespace {

template <typename T>
uint64_t bits_of(T element) {
  uint64_t bits = 0;
  std::memcpy(&bits, &element, sizeof element);
  return bits;
}

std::optional<uint64_t> parse_element(ir::DType dtype, std::string_view text) {
  if (text.starts_with("0x")) {
    const auto bits = ir::parse_number<uint64_t>(text.substr(2), 16);
    const bool fits = bits && (ir::info(dtype).bits == 64 || *bits >> ir::info(dtype).bits == 0);
    return fits ? bits : std::nullopt;
  }
  return ir::with_element_type(dtype, [&]<typename T>(T) -> std::optional<uint64_t> {
    if constexpr (ir::is_half_type<T>) {
      const auto number = ir::parse_number<float>(text);
      return number ? std::optional(bits_of(static_cast<T>(*number))) : std::nullopt;
    } else {
      const auto number = ir::parse_number<T>(text);
      return number ? std::optional(bits_of(*number)) : std::nullopt;
    }
  });
}

}  // namespace

std::string decimal_text(ir::DType dtype, uint64_t bits) {
  return ir::with_element_type(dtype, [&]<typename T>(T element) {
    std::memcpy(&element, &bits, sizeof element);
    if constexpr (ir::is_half_type<T>)
      return fmt::format("{}", static_cast<float>(element));
    else
      return fmt::format("{}", element);
  });
}

std::string print_element(ir::DType dtype, uint64_t bits) {
  std::string text = decimal_text(dtype, bits);
  if (parse_element(dtype, text) == bits) return text;
  return fmt::format("0x{:0{}x}", bits, 2 * ir::bytes(dtype));
}

ir::Result<std::vector<uint64_t>> parse_elements(ir::DType dtype, std::string_view text) {
  constexpr std::string_view blanks = " ,\t\n";
  std::vector<uint64_t> elements;
  for (;;) {
    text.remove_prefix(std::min(text.find_first_not_of(blanks), text.size()));
    if (text.empty()) break;
    const std::string_view word = text.substr(0, text.find_first_of(blanks));
    const auto bits = parse_element(dtype, word);
    if (!bits)
      return ir::invalid("check.data", fmt::format("\"{}\" is no {}", word, ir::info(dtype).spec_name),
                         "plain, ties, special, range, or elements: 1 -0.5 nan inf 0x7fc00001");
    elements.push_back(*bits);
    text.remove_prefix(word.size());
  }
  if (elements.empty()) return ir::invalid("check.data", "there are no elements", "1 -0.5 nan");
  return elements;
}

std::vector<uint64_t> read_elements(const MemoryView& view, std::span<const std::byte> memory) {
  std::vector<uint64_t> elements;
  for_each_element(view, [&](int64_t offset) {
    uint64_t bits = 0;
    std::memcpy(&bits, &memory[static_cast<size_t>(offset)], static_cast<size_t>(view.element_bytes));
    elements.push_back(bits);
  });
  return elements;
}

std::string print_elements(const MemoryView& view, ir::DType dtype, std::span<const std::byte> memory) {
  std::vector<std::string> texts;
  for (const uint64_t bits : read_elements(view, memory)) texts.push_back(print_element(dtype, bits));
  return fmt::format("{}", fmt::join(texts, " "));
}

}  // namespace pooljit::runtime
