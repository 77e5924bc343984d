// What explanations ask of each output's window, and of what an engine made of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "ir/nest.h"
#include "runtime/check_case.h"

namespace pooljit::fuzz {

struct WindowFacts {
  int64_t output = 0, index = 0;  // where the output and its index lie, in elements
  int64_t taps = 0;               // in the image
  bool has_nan = false;           // among them
  double divisor = 1;             // its size
  double mean_size = 0;           // sum of |x| over the divisor
  // Of the taps that are no NaN; infinities the other way round where there are none.
  double least = std::numeric_limits<double>::infinity(), greatest = -std::numeric_limits<double>::infinity();
  // The value that was found is one of the taps' (any NaN is any other), or the zero that a subnormal tap
  // becomes.
  bool is_tap = false;
  bool index_is_tap = false;  // the index that was found is that of a tap in the image
  double at_index = 0;        // whose value that tap has
};
std::vector<WindowFacts> window_facts(const ir::PoolNest& nest, int64_t batch, const std::byte* input,
                                      const runtime::Results& found);

bool is_subnormal(ir::DType dtype, double value);  // zeros too

// An element as a number.
double read_element(ir::DType dtype, const std::byte* memory, int64_t element);

}  // namespace pooljit::fuzz
