// Facts of each output's window, and of the engine's result, that explanations use.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <vector>

#include "ir/nest.h"
#include "lab/check_case.h"

namespace pooljit::fuzz {

// Holds every element of every dtype, int64's too.
using Number = long double;

struct WindowFacts {
  int64_t n = 0, c = 0;
  std::array<int64_t, 8> position = {};  // of the output, as many as there are dims
  int64_t output = 0, index = 0;         // where the output and its index lie, in elements
  int64_t taps = 0;                      // in the image
  int64_t first_index = -1;              // of the first of them
  bool has_nan = false;                  // among them
  double divisor = 1;                    // its size
  double mean_size = 0;                  // sum of |x| over the divisor
  Number sum = 0;                        // of the taps
  Number mean = 0;  // the sum of the taps over the divisor, before it is rounded to the dtype
  // Of the taps that are no NaN; infinities the other way round where there are none.
  Number least = std::numeric_limits<Number>::infinity(), greatest = -std::numeric_limits<Number>::infinity();
  // The value that was found is one of the taps' (any NaN is any other), or the zero that a subnormal tap
  // becomes.
  bool is_tap = false;
  int64_t equals = 0;              // taps that are the value that was found
  int64_t last_equal = -1;         // the index of the last of them
  int64_t best_number = -1;        // that of the first greatest tap
  bool index_is_tap = false;       // the index that was found is that of a tap in the image
  Number at_index = 0;             // whose value that tap has
  bool index_is_last = false;      // it is the last one of the equals
  bool index_is_in_input = false;  // it is -1, or one that a tap of some window could have
};
// Where an output and its index lie, in elements.
struct OutputPlace {
  int64_t output = 0, index = 0;
};
constexpr auto every_output = [](OutputPlace) { return true; };

// Of the outputs that are wanted: what is looked at is one in hundreds where an engine is nearly right.
void for_each_window(const ir::PoolNest& nest, int64_t batch, const std::byte* input,
                     const runtime::Results& found, const std::function<bool(OutputPlace)>& is_wanted,
                     const std::function<void(const WindowFacts&)>& visit);
std::vector<WindowFacts> window_facts(const ir::PoolNest& nest, int64_t batch, const std::byte* input,
                                      const runtime::Results& found,
                                      const std::function<bool(OutputPlace)>& is_wanted = every_output);

bool is_subnormal(ir::DType dtype, Number value);  // zeros too

// An element as a number.
Number read_element(ir::DType dtype, const std::byte* memory, int64_t element);

}  // namespace pooljit::fuzz
