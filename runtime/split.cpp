#include "runtime/split.h"

#include <algorithm>
#include <numeric>

#include "ir/check.h"

namespace pooljit::runtime {
namespace {

// Ranges of a dimension so long that a difference of 1 in their size does not matter.
constexpr int64_t fine_grain = 16;

}  // namespace

Grid::Grid(std::span<const int64_t> extents, int threads) : dims_(static_cast<int>(extents.size())) {
  POOLJIT_CHECK(extents.size() <= extents_.size(), "a Program has too many task dimensions");
  int64_t wanted = threads;  // cells that each cell so far should still be cut into
  for (int d = 0; d < dims_; ++d) {
    const int64_t extent = extents_[d] = extents[d];
    const bool suits = extent % wanted == 0 || extent >= fine_grain * wanted || d == dims_ - 1;
    parts_[d] = suits ? std::min(extent, wanted) : extent;
    // Cells that a multiple of the threads shares out equally; a thread may get several.
    wanted = suits ? 1 : wanted / std::gcd(extent, wanted);
    cells_ *= parts_[d];
  }
}

TaskRanges Grid::ranges(int64_t cell) const {
  TaskRanges ranges;
  for (int d = dims_ - 1; d >= 0; --d) {
    const int64_t part = cell % parts_[d], size = extents_[d] / parts_[d], rest = extents_[d] % parts_[d];
    cell /= parts_[d];
    ranges[d] = {part * size + std::min(part, rest), size + (part < rest ? 1 : 0)};
  }
  return ranges;
}

}  // namespace pooljit::runtime
