// Elements as text: what check() is given and prints. Numbers as people write them, nan, inf, or 0x and the
// bits, which says which NaN.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ir/error.h"
#include "runtime/memory_view.h"

namespace pooljit::runtime {

// As a number; all NaNs are alike.
std::string decimal_text(ir::DType dtype, uint64_t bits);
// The shortest text that reads back as these bits.
std::string print_element(ir::DType dtype, uint64_t bits);

// With blanks or commas between them. Errors: "check.data".
ir::Result<std::vector<uint64_t>> parse_elements(ir::DType dtype, std::string_view text);

// The elements of a view, in logical order.
std::vector<uint64_t> read_elements(const MemoryView& view, std::span<const std::byte> memory);
std::string print_elements(const MemoryView& view, ir::DType dtype, std::span<const std::byte> memory);

}  // namespace pooljit::runtime
