// What explanations ask of each output's window.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "ir/nest.h"

namespace pooljit::fuzz {

struct WindowFacts {
  int64_t output = 0, index = 0;  // where the output and its index lie, in elements
  int64_t taps = 0;               // in the image
  bool has_nan = false;           // among them
  double divisor = 1;             // its size
  double mean_size = 0;           // sum of |x| over the divisor
};
std::vector<WindowFacts> window_facts(const ir::PoolNest& nest, int64_t batch, const std::byte* input);

// An element as a number.
double read_element(ir::DType dtype, const std::byte* memory, int64_t element);

}  // namespace pooljit::fuzz
