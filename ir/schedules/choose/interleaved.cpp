#include <algorithm>
#include <vector>

#include "ir/schedules/choose/offers.h"
#include "ir/schedules/choose/pixels.h"
#include "ir/schedules/choose/rows.h"
#include "ir/schedules/lanes/pixel_rows.h"
#include "ir/schedules/lowering/pieces.h"

namespace pooljit::ir {

namespace {

// Maxima of strided windows of 1 and 2 bytes, where shuffles are put together from halves: from so many
// channels on vectors of channels do less, and of bytes whose channels two of them hold that overlap. 0.27 to
// 0.9 of interleaved's time, measured at 2 to 64 channels on a Zen 5's AVX2.
bool are_shuffles_dear(const Layer& layer) {
  const PoolNest& nest = layer.nest();
  const NestDim& row = nest.dims.back();
  const int element = bytes(nest.input.dtype);
  if (row.stride == 1 || row.kernel <= 2 || element > 2 || !shuffles_in_halves(layer) || !nest.is_extreme())
    return false;
  const bool are_few_bytes = element == 1 && row.kernel < 5;
  return nest.channels >= (are_few_bytes ? 10 : 8);
}

// Short sums, whose shuffles gather ever fewer lanes from a vector: 1.3 to 2.2 of the time of vectors of
// channels, 31 to 48 channels on a Zen 5; of 24 channels or fewer, and of fewer columns, less or as much.
bool are_short_sums_far_apart(const Layer& layer) {
  constexpr int64_t most_channels = 24, least_columns = 5;
  const NestDim& row = layer.nest().dims.back();
  return sums_in_short_lanes(layer) && layer.can_mask() && row.stride > 1 && row.kernel >= least_columns &&
         layer.nest().channels > most_channels;
}

// Code for all sizes: so many taps, none of which windows share, that separable takes less time, whose
// vectors are mostly empty. 0.002 to 0.7 of it, windows of 13 and 31 rows and columns over 3 to 8 channels on
// a busy Zen 5.
bool are_taps_better_shared(const Layer& layer, const RowFields& rows, int lanes) {
  constexpr int64_t most_by_tap = 64, most_of_a_lane = 16;
  const PoolNest& nest = layer.nest();
  const bool is_separable = nest.dims.size() > 1 && has_pieces(nest.dims.back()) &&
                            has_pieces(*(nest.dims.end() - 2)) && layer.facts(LaneUse::fixed).any_order;
  if (!is_separable || rows.scan == RowFields::Scan::rolling) return false;
  return nest.full_taps() > (rows.scan == RowFields::Scan::tap_by_tap ? most_by_tap : most_of_a_lane * lanes);
}

// Windows beyond the image, of many channels: vectors of those take 0.6 of the time.
bool are_many_beyond(const Layer& layer) {
  constexpr int64_t many_channels = 64;
  const NestDim& row = layer.nest().dims.back();
  const bool are_beyond = row.window(0).taps == 0 || row.window(row.output - 1).taps == 0;
  return are_beyond && layer.nest().channels > many_channels;
}

}  // namespace

// What channels_first would do with the rows of pixels.
Offer offer_interleaved(const Layer& layer, size_t most) {
  const bool is_for_any = layer.nest().has_any_size();
  if (!has_pixel_rows(layer.nest()) || (is_for_any && !has_pixel_rows_of_any_size(layer.nest()))) return {};
  if (are_shuffles_dear(layer) || are_short_sums_far_apart(layer))
    return {{}, "windows of several columns: shuffles cost more than idle lanes"};
  if (rolls_bytes_by_channels(layer)) return {{}, "maxima of bytes: channels_last rolls and moves no lanes"};
  if (are_many_beyond(layer)) return {{}, "many channels, and windows beyond the image: vectors of channels"};
  const PoolNest rows = as_one_channel(layer.nest());
  Offer offer = offer_channels_first(layer.over(rows), most);
  for (Schedule& schedule : offer.schedules)
    schedule.own = InterleavedFields{std::get<ChannelsFirstFields>(schedule.own)};
  if (is_for_any && !offer.schedules.empty()) {
    const Schedule& best = offer.schedules.front();
    if (are_taps_better_shared(layer, *row_fields(best), best.lanes))
      return {{}, "windows of many taps, which do not roll: separable"};
  }
  // Narrow elements from far: groups of rows read them fewer times, 0.35 to 0.85 of the time for 5 MB of
  // bytes.
  const bool rolls = layer.nest().is_extreme() &&
                     (layer.nest().input.dtype == DType::f32 || layer.image_bytes() <= near_bytes);
  if (!is_for_any && rolls && are_windows_tall(layer) && !offer.schedules.empty()) {
    Schedule rolling = offer.schedules.front();
    rolling.own = InterleavedFields{{.scan = RowFields::Scan::rolling}};
    std::erase(offer.schedules, rolling);
    if (check(layer, rolling)) offer.schedules.insert(offer.schedules.begin(), rolling);
    offer.schedules.resize(std::min(offer.schedules.size(), most));
  }
  return offer;
}

}  // namespace pooljit::ir
