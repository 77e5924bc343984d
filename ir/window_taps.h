// Output positions and the taps of each. The oracle (ir/reference.cpp) and the judge (ir/agreement.cpp) walk
// over them, in spans (ir/output_spans.h).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "ir/element_type.h"
#include "ir/nest.h"
#include "ir/offsets.h"

namespace pooljit::ir {

struct Tap {
  int64_t offset;  // in elements
  int64_t index;   // as ir/nest.h: IndexRule counts it, without channel and batch
};

// How many so many planes of a nest have in all, those in the padding among them.
inline double taps_of_planes(const PoolNest& nest, int64_t planes) {
  double taps = static_cast<double>(planes) * static_cast<double>(nest.full_taps());
  for (const NestDim& dim : nest.dims) taps *= static_cast<double>(dim.output);
  return taps;
}

// The taps inside the image of a product of windows, row-major. Those of one position and the next differ by
// an offset only, unless a border is near; so they are kept relative to the first one.
class WindowTaps {
 public:
  explicit WindowTaps(const PoolNest& nest) : nest_(nest), rule_(index_rule(nest)) {}

  void move_to(const std::vector<Window>& windows) {
    std::vector<int64_t> counts;
    first = {0, 0};
    for (size_t d = 0; d < windows.size(); ++d) {
      first = inner(first, d, windows[d].first, windows[d].first_tap);
      counts.push_back(windows[d].taps);
    }
    if (counts == counts_) return;
    counts_ = counts;
    from_first.assign(1, {0, 0});
    for (size_t d = 0; d < windows.size(); ++d) {
      std::vector<Tap> taps;
      for (const Tap& outer : from_first)
        for (int64_t i = 0; i < counts[d]; ++i)
          taps.push_back(inner(outer, d, i * windows[d].step, i * nest_.dims[d].tap_number_step()));
      from_first = std::move(taps);
    }
  }

  Tap first = {0, 0};
  std::vector<Tap> from_first;

 private:
  // The tap at `position` of dimension d, which is number `tap` of its window, within what `outer` names of
  // the dimensions before it.
  Tap inner(const Tap& outer, size_t d, int64_t position, int64_t tap) const {
    return {outer.offset + position * nest_.input.strides[d],
            outer.index + (rule_.of_window ? tap : position) * rule_.dims[d]};
  }

  const PoolNest& nest_;
  const IndexRule rule_;
  std::vector<int64_t> counts_;  // of from_first, per dimension
};

// Visits every output position of some dimensions and its windows once, in row-major order: visit(position,
// windows).
template <typename Visit>
void for_each_position(std::span<const NestDim> dims, const Visit& visit) {
  const size_t rank = dims.size();
  std::vector<int64_t> position(rank, 0);
  std::vector<Window> windows(rank);
  for (;;) {
    for (size_t d = 0; d < rank; ++d) windows[d] = dims[d].window(position[d]);
    visit(position, windows);
    size_t d = rank;
    while (d > 0 && ++position[d - 1] == dims[d - 1].output) position[--d] = 0;
    if (d == 0) return;
  }
}

}  // namespace pooljit::ir
