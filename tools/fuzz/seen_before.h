// Elements that a rolling sum or maximum has read before a window is complete: rows first, then columns.
// These are all elements up to the window's last one along each dimension.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "ir/nest.h"
#include "tools/fuzz/window_facts.h"

namespace pooljit::fuzz {

struct Seen {
  Number size = 0;  // of the finite ones: how many, times the largest
  bool is_finite = true, has_nan = false;
};

class SeenBefore {
 public:
  SeenBefore(const ir::PoolNest& nest, int64_t batch, const std::byte* input);

  Seen at(int64_t n, int64_t c, const std::array<int64_t, 8>& position) const;

 private:
  std::vector<ir::NestDim> dims_;
  int64_t channels_, plane_ = 1;
  // Of each element: of those up to it, the largest finite magnitude, and whether all are finite.
  std::vector<Seen> seen_;
};

}  // namespace pooljit::fuzz
