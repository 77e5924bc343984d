// The Lp norm of a window in extended precision. The oracle and its judge rest on it.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "ir/element_type.h"
#include "ir/window_taps.h"

namespace pooljit::ir {

struct Norm {
  long double value;      // (sum |x|^p)^(1/p); the largest |x| where p is infinite
  long double power_sum;  // sum |x|^p
};

// x: the window's first tap. A NaN among the taps makes the norm NaN.
template <typename T>
Norm norm(const T* x, const std::vector<Tap>& taps, double p) {
  long double largest = 0, sum = 0;
  for (const Tap& tap : taps) {
    const long double size = std::abs(static_cast<long double>(load_element<T>(x, tap.offset)));
    largest = largest == largest && !(size <= largest) ? size : largest;
    sum += p == 1 ? size : p == 2 ? size * size : std::pow(size, static_cast<long double>(p));
  }
  if (std::isinf(p)) return {largest, largest};
  return {p == 1 ? sum : p == 2 ? std::sqrt(sum) : std::pow(sum, 1 / static_cast<long double>(p)), sum};
}

}  // namespace pooljit::ir
