// Comparing what two engines left in memory.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ir/nest.h"
#include "runtime/memory_view.h"

namespace pooljit::runtime {

// The two sides of a comparison, in the words of the report.
struct Comparison {
  std::string_view what;  // "output", "index"
  ir::DType dtype = ir::DType::f32;
  bool nans_are_equal = false;  // any NaN for any other
};

// The first element that differs, its position and both values; or the first byte of a gap. Both spans hold
// the whole view, gaps included.
std::optional<std::string> first_difference(const Comparison& comparison, const MemoryView& view,
                                            std::span<const std::byte> expected,
                                            std::span<const std::byte> actual);

// One flag per byte of the view's span: does it belong to an element? Empty if all do.
std::vector<bool> element_bytes(const MemoryView& view);

}  // namespace pooljit::runtime
