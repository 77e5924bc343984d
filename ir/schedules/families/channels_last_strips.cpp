#include "ir/schedules/families/channels_last_strips.h"

#include <algorithm>

#include "ir/schedules/families/channels_last_registers.h"
#include "ir/schedules/lanes/channel_blocks.h"
#include "ir/schedules/windows/rolling_outputs.h"
#include "ir/schedules/windows/stretch.h"

namespace pooljit::ir {
namespace {

// Input columns of a strip beside those that it shares with the one before. More of these ask for longer
// strips. No field: of 4 to 32 columns, 8 is within 3 % of the best everywhere.
constexpr int64_t strip_columns = 8, columns_per_shared = 2;

RollingStrip strip_of(const NestDim& dim, int64_t first, int64_t outputs, int64_t count) {
  RollingStrip strip{dim, first, count};
  strip.dim.output = outputs;
  strip.dim.pad_begin -= first * dim.stride;
  return strip;
}

// The outputs of a strip: even, because outputs are computed in pairs, with a short last strip avoided.
int64_t strip_outputs(const NestDim& dim, int64_t outputs) {
  const int64_t columns = std::max(strip_columns, columns_per_shared * (dim.kernel - dim.stride));
  const int64_t least = 2 * ceil_div(columns, 2 * dim.stride);
  int64_t best = least;
  for (int64_t strip = least; strip < 2 * least; strip += 2)
    if (outputs % strip < outputs % best) best = strip;
  return best;
}

}  // namespace

std::vector<RollingStrip> rolling_strips(const PoolNest& nest, int64_t channels) {
  const NestDim& dim = nest.dims.back();
  const Interior whole = interior(dim);
  const int64_t outputs = strip_outputs(dim, whole.end - whole.begin);
  const int64_t count = (whole.end - whole.begin) / outputs;
  if (!reads_whole_pixels(nest) || nest.channels <= channels || count < 2) return {};
  std::vector<RollingStrip> strips;
  if (whole.begin > 0) strips.push_back(strip_of(dim, 0, whole.begin, 1));
  strips.push_back(strip_of(dim, whole.begin, outputs, count));
  const int64_t done = whole.begin + outputs * count;
  if (done < dim.output) strips.push_back(strip_of(dim, done, dim.output - done, 1));
  return strips;
}

bool can_roll(const PoolNest& nest, const ReductionFacts& facts, Isa isa, int side_by_side) {
  const size_t last = nest.dims.size() - 1;
  if (last == 0 || nest.dims[last].output < 2 || nest.is_backward() || !facts.any_order ||
      !RollingOutputs::can_serve(nest.dims[last]))
    return false;
  return rolling_registers(nest, facts, isa, side_by_side) <= info(isa).vector_registers;
}

}  // namespace pooljit::ir
