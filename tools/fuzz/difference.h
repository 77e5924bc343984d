// Where a wrong result is wrong: the first element that no engine may give, and how many there are.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "ir/nest.h"
#include "lab/check_case.h"
#include "tools/fuzz/window_facts.h"

namespace pooljit::fuzz {

struct Difference {
  std::string place;          // "output [n,c,y,x]" or "index [n,c,y,x]"
  std::string got, expected;  // as numbers; with their bits where the numbers look alike
  int64_t wrong = 0, of = 0;  // elements, of the output or of the indices
};

// Absent: the judge has nothing against it.
std::optional<Difference> first_difference(const ir::PoolNest& nest, const runtime::Case& data,
                                           const runtime::Results& results);

// The same of one output or its index, though it may be right.
Difference difference_at(const ir::PoolNest& nest, const runtime::Case& data, const runtime::Results& results,
                         const WindowFacts& window, bool is_index);

}  // namespace pooljit::fuzz
