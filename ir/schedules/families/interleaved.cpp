// interleaved: a vector holds neighbouring elements of a row of pixels: the channels of one pixel, then
// those of the next. For few channels, where vectors of channels would have idle lanes. The code is that
// of channels_first on rows of one channel (ir/schedules/lanes/pixel_rows.h).
#include "ir/schedules/lanes/pixel_rows.h"
#include "ir/schedules/lowering/row_family.h"

namespace pooljit::ir {
namespace {

Result<void> suits_interleaved(const Layer& layer) {
  const bool is_for_any = layer.nest().has_any_size();
  if (has_pixel_rows(layer.nest()) && is_for_any && !has_pixel_rows_of_any_size(layer.nest()))
    return unsupported("schedule.sizes", "code for all sizes has rows of pixels of less than 64 bytes",
                       "use channels_last");
  if (has_pixel_rows(layer.nest())) return {};
  return unsupported(
      "schedule.strides",
      "interleaved needs several channels that lie next to each other, pixels without gaps, "
      "no indices and no operands per channel; with a stride along the row at most 64 channels, "
      "and 8 columns of the window",
      "use channels_last");
}

Result<void> check_interleaved(const Layer& layer, const Schedule& schedule) {
  if (auto suits = suits_interleaved(layer); !suits) return suits;
  const PoolNest rows = as_one_channel(layer.nest());
  return check_rows(layer.over(rows), schedule);
}

Result<Program> lower_interleaved(const Layer& layer, const Schedule& schedule) {
  if (const auto suits = suits_interleaved(layer); !suits) return tl::unexpected(suits.error());
  const PoolNest rows = as_one_channel(layer.nest());
  return lower_rows(layer.over(rows), schedule);
}

}  // namespace

const FamilyInfo interleaved_family = {Family::interleaved, row_lanes,         all_tails, suits_interleaved,
                                       check_interleaved,   lower_interleaved, nullptr};

}  // namespace pooljit::ir
