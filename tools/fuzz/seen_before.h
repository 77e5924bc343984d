// What a sum or a maximum has seen that rolls along the rows of a plane and then along its columns: every
// element that lies before the window's last one along each dimension.
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
