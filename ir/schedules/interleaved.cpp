// interleaved: a vector holds neighbouring elements of a row of pixels, the channels of one pixel and on into
// the next. For few channels, which would leave most lanes of a vector of channels idle. What channels_first
// does with rows of one channel (ir/schedules/pixel_rows.h).
#include "ir/schedules/family.h"
#include "ir/schedules/pixel_rows.h"

namespace pooljit::ir {
namespace {

std::vector<Schedule> enumerate_interleaved(const PoolNest& nest, Isa isa, int working_bytes, size_t most) {
  if (!has_pixel_rows(nest)) return {};
  std::vector<Schedule> found =
      channels_first_family.enumerate(as_one_channel(nest), isa, working_bytes, most);
  for (Schedule& schedule : found) schedule.family = Family::interleaved;
  return found;
}

Result<Program> lower_interleaved(const PoolNest& nest, const Schedule& schedule, Isa isa) {
  if (!has_pixel_rows(nest))
    return unsupported("schedule.strides",
                       "interleaved needs several channels that lie next to each other, pixels without gaps, "
                       "windows of stride 1 along the row, no indices and no operands per channel",
                       "use channels_last");
  return channels_first_family.lower(as_one_channel(nest), schedule, isa);
}

}  // namespace

const FamilyInfo interleaved_family = {Family::interleaved, "interleaved", LaneUse::moved,
                                       enumerate_interleaved, lower_interleaved};

}  // namespace pooljit::ir
