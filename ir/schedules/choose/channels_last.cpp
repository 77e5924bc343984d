#include <algorithm>
#include <bit>
#include <cstdint>
#include <iterator>
#include <vector>

#include "ir/schedules/choose/offers.h"
#include "ir/schedules/choose/pixels.h"
#include "ir/schedules/choose/rows.h"
#include "ir/schedules/lanes/channel_blocks.h"
#include "ir/schedules/lanes/lanes_apart.h"
#include "ir/schedules/lowering/lowering.h"

namespace pooljit::ir {
namespace {

// Windows of so many taps keep a vector busy until many others could have begun; of float32 in vectors of 64
// bytes: windows of 5 rows and columns take 0.5 to 1.05 of the time of four vectors side by side on a Zen 5.
constexpr int64_t long_window = 32, long_window_of_floats = 25;

const ReductionFacts& facts_of(const Layer& layer) { return layer.facts(channels_last_family.lanes); }

// True if all windows are whole and alike, and so few taps that straight-line code takes each float from
// memory as it is.
bool takes_from_memory(const PoolNest& nest) {
  const bool are_alike = std::all_of(nest.dims.begin(), nest.dims.end(), [](const NestDim& dim) {
    const std::vector<Run> all = runs(dim);
    return all.size() == 1 && all[0].window.taps == dim.most_taps() &&
           all[0].window.padded_taps == dim.most_taps();
  });
  return are_alike && !nest.indices && !nest.is_backward() && !nest.is_norm() && is_float(nest.input.dtype) &&
         bytes(nest.input.dtype) >= 4 && nest.epilogue.empty() && nest.output.dtype == nest.input.dtype &&
         nest.full_taps() <= Lowering::unroll_taps;
}

// Of elements of 4 bytes 32 registers hold a value and a loaded tap of so many vectors.
bool takes_sixteen(const Layer& layer) {
  return !has_few_registers(layer) && layer.nest().input.dtype == DType::f32 && layer.nest().epilogue.empty();
}

// Eight vectors side by side pay where each is a long chain of taps. Chains of integers are short: there from
// many more taps on, or where images come from far.
bool pays_wide(const Layer& layer) {
  constexpr int64_t very_long_window = 256;
  const bool is_near = layer.image_bytes() <= near_bytes;
  const int64_t least = is_near && takes_sixteen(layer)                  ? long_window_of_floats
                        : is_near && !is_float(layer.nest().input.dtype) ? very_long_window
                                                                         : long_window;
  return layer.nest().full_taps() >= least;
}

// So many vectors side by side are offered: an opinion that leaves each state about as many registers as it
// takes. What the registers hold at most says check().
bool leaves_room(const Layer& layer, bool one_each, int vectors) {
  const int each = static_cast<int>(facts_of(layer).state_vectors);
  const int needed = layer.nest().indices ? 5 * vectors : one_each ? vectors + 4 : 2 * each * vectors;
  const int to_join = channel_stride(layer.nest().input) == 1 ? 0 : 4;  // lanes that lie apart
  return needed + to_join + extra_registers(layer.nest(), facts_of(layer)) < layer.registers();
}

// The registers hold so many vectors side by side, window by window.
bool has_registers_for(const Layer& layer, int lanes, int vectors) {
  Schedule schedule = schedule_of(Family::channels_last, lanes);
  schedule.own = ChannelsLastFields{.vectors_side_by_side = vectors};
  return has_registers(layer, schedule);
}

// Maxima of floats without masks of bits: each tap takes a comparison and a blend, and half as much code is
// fetched faster. 0.54 to 0.96 of the time of four vectors side by side on a Granite Rapids, 0.8 to 1.1 on a
// Zen 5 (one 1.5); of two or three taps nothing.
bool takes_two(const Layer& layer) {
  constexpr int64_t few_taps = 4;
  return has_few_registers(layer) && layer.nest().input.dtype == DType::f32 &&
         facts_of(layer).is_idempotent && layer.nest().full_taps() >= few_taps && !layer.nest().indices;
}

// How many vectors with indices are taken at a time where registers are few: 0.57 to 0.99 of the time of two,
// which wait for their comparisons. 0: as many as leave room. Measured, and held by the registers, without
// anything that a layer may ask besides.
int with_indices(const Layer& layer, int lanes) {
  constexpr int64_t few_taps = 4;
  const PoolNest& nest = layer.nest();
  const int64_t vectors = channel_vectors(nest, lanes);
  const int size = bytes(nest.input.dtype);
  const bool is_plain = nest.nan == NanRule::propagate && nest.zeros == ZeroRule::any &&
                        nest.epilogue.empty() && nest.output.dtype == nest.input.dtype &&
                        layer.adjacent_channels() == nest.channels;
  const bool suits = nest.indices && !nest.is_backward() && is_plain && has_few_registers(layer) && lanes > 1;
  if (!suits || size > 4 || vectors < 3 || (size < 4 && nest.full_taps() <= few_taps)) return 0;
  return static_cast<int>(std::min<int64_t>(vectors, size == 1 ? 3 : 4));
}

// Sums in pixels of five vectors, which four at a time would leave one of: 0.60 to 0.79 of the time.
bool takes_five(const Layer& layer, int64_t vectors) {
  constexpr int64_t few_taps = 9;
  return has_few_registers(layer) && layer.nest().input.dtype == DType::f32 &&
         !facts_of(layer).is_idempotent && vectors == 5 && layer.nest().full_taps() >= few_taps &&
         !layer.nest().indices;
}

// Maxima of float32 with a stride share few columns, and what rolls waits for its own results: 0.75 to 0.93
// of the time, windows of 3 and 5 on a Granite Rapids. Sums roll faster, 0.6 to 0.95.
bool shares_little(const Layer& layer, int lanes, int64_t vectors) {
  constexpr int64_t most_columns = 5;
  const PoolNest& nest = layer.nest();
  const NestDim& row = nest.dims.back();
  return has_few_registers(layer) && facts_of(layer).is_idempotent && nest.input.dtype == DType::f32 &&
         nest.channels % lanes == 0 && vectors > 1 && row.stride > 1 && row.kernel <= most_columns;
}

// How many vectors of a pixel to take at a time where windows have a stride and images lie in the second
// cache: half of a pixel for all taps, then the other half, lets the first cache bring what comes next. On a
// Zen 5 1.2 to 1.8 times as fast as whole pixels or quarters; of what waits for conversions, slower. 0: no
// such half.
int half_of_pixel(const Layer& layer, int lanes, bool one_each, int64_t vectors) {
  constexpr int64_t many_vectors = 16;
  const PoolNest& nest = layer.nest();
  const int64_t columns = nest.dims.back().kernel, stride = nest.dims.back().stride;
  const int64_t most_columns = columns <= stride ? 4 : 3;
  const int size = bytes(nest.input.dtype);
  const bool is_cheap = size >= 4 || (facts_of(layer).is_idempotent && (size == 1 || columns <= stride));
  const auto steps = [](const NestDim& dim) { return dim.kind == DimKind::pool && dim.stride > 1; };
  if (!waits_for_loads(nest) || !is_cheap || !is_in_second_cache(layer) || columns > most_columns ||
      nest.channels % lanes != 0 || !std::ranges::all_of(nest.dims, steps))
    return 0;
  // Eight of sums along three dimensions: 0.78 to 1.0 of the time of four.
  if (vectors >= 24 && takes_sixteen(layer)) return has_registers_for(layer, lanes, 16) ? 16 : 8;
  for (const int half : {8, 4, 3, 2, 1})
    if (2 * half <= vectors && vectors % half == 0)
      return (vectors <= 3 * half || vectors > many_vectors) && leaves_room(layer, one_each, half) ? half : 0;
  return 0;
}

// The same where every tap is loaded for each window, stride 1: pixels that do not stay in the first cache
// until the next row needs them, in images that lie in the second together with what is stored.
bool takes_pixels_in_parts(const Layer& layer, int lanes, int64_t vectors) {
  constexpr int64_t least_image = 120'000, least_vectors = 16, most_vectors = 64;
  const PoolNest& nest = layer.nest();
  const auto is_small = [](const NestDim& dim) {
    return dim.kind == DimKind::pool && dim.stride == 1 && dim.dilation == 1 && dim.kernel <= 3;
  };
  return waits_for_loads(nest) && takes_sixteen(layer) && nest.channels % lanes == 0 &&
         vectors >= least_vectors && vectors <= most_vectors && layer.image_bytes() >= least_image &&
         layer.image_bytes() <= near_bytes / 2 && std::ranges::all_of(nest.dims, is_small);
}

// Rows whose windows of a few columns interleaved takes for all channels at once, and shares what they have
// in common.
bool are_rows_of_few_columns(const Layer& layer) {
  constexpr int64_t most_columns = 3;
  const PoolNest& nest = layer.nest();
  const NestDim& row = nest.dims.back();
  return nest.dims.size() > 1 && row.stride == 1 && row.dilation == 1 && row.kernel >= 2 &&
         row.kernel <= most_columns && !offer_interleaved(layer, 1).schedules.empty();
}

// Sums of long windows side by side, of pixels of sixteen vectors and more: 0.6 to 1.05 of the time of eight
// at a time.
bool are_long_sums(const Layer& layer, int64_t vectors) {
  constexpr int64_t least_image = 120'000, least_vectors = 16;
  return waits_for_loads(layer.nest()) && takes_sixteen(layer) && pays_wide(layer) &&
         !facts_of(layer).is_idempotent && vectors >= least_vectors && layer.image_bytes() >= least_image &&
         is_in_second_cache(layer) && !overlaps(layer.nest());
}

// Maxima of bytes whose pixels fill at most three quarters of one or two of the widest vectors: halves of
// these, several side by side, take 0.5 to 1.07 of the time, 40 to 96 channels on three machines.
bool are_bytes_of_half_vectors(const Layer& layer, int lanes) {
  constexpr int wide = 64;
  const PoolNest& nest = layer.nest();
  const int64_t vectors = channel_vectors(nest, wide);
  return lanes == wide && layer.most_lanes(LaneUse::fixed) == wide && bytes(nest.input.dtype) == 1 &&
         facts_of(layer).is_idempotent && !nest.indices && vectors <= 2 &&
         4 * nest.channels <= 3 * vectors * wide && largest_block(nest) == 1;
}

// How many vectors of a pixel to take at a time rather than what rolls or any other number; 0: none. On a
// Cascade Lake and a Granite Rapids such parts lose 3 % in the mean of 90 layers, up to half.
int part_of_pixel(const Layer& layer, int lanes, bool one_each, int64_t vectors) {
  if (lanes == 1 || !layer.machine().parts_of_pixels || are_bytes_of_half_vectors(layer, 2 * lanes)) return 0;
  if (takes_pixels_in_parts(layer, lanes, vectors) || are_long_sums(layer, vectors)) return 16;
  return half_of_pixel(layer, lanes, one_each, vectors);
}

bool is_dense(const NestDim& dim) { return dim.kind == DimKind::pool && dim.stride == 1; }

// The second cache does not hold the image together with what is stored.
bool fills_second_cache(const Layer& layer) { return layer.image_bytes() > 2 * near_bytes / 3; }

// Images that do not lie in the second cache together with what is stored: 0.65 to 0.93 of the time of
// vectors over channels, 64 to 768 channels and 0.7 to 5 MB on a Zen 5; of smaller ones up to twice the time.
// Whole lines, which leave the caches, are stored by vectors over channels.
bool are_rows_from_afar(const Layer& layer) {
  constexpr int64_t most_image = 8'000'000, least_channels = 64;
  const PoolNest& nest = layer.nest();
  const int vector_bytes = info(layer.isa()).vector_bytes;
  return !has_few_registers(layer) && nest.input.dtype == DType::f32 && waits_for_loads(nest) &&
         nest.channels >= least_channels && nest.channels * bytes(nest.input.dtype) % vector_bytes == 0 &&
         fills_second_cache(layer) && layer.image_bytes() < most_image &&
         std::ranges::all_of(nest.dims, is_dense) && are_rows_of_few_columns(layer);
}

// Sums without borders: 0.65 to 1.0 of the time of vectors over channels, 64 to 672 channels on a Zen 3. With
// borders, of images that do not lie in the second cache together with what is stored: 0.72 to 0.95 on a Zen
// 5, 96 to 768 channels; of smaller ones up to 1.6.
bool are_sums_of_rows(const Layer& layer) {
  constexpr int64_t least_channels = 64, least_with_borders = 96, most_with_borders = 768, least_taps = 6;
  const PoolNest& nest = layer.nest();
  const auto is_whole = [](const NestDim& dim) { return dim.kind == DimKind::pool && !has_borders(dim); };
  const bool are_borders_cheap = fills_second_cache(layer) && nest.channels >= least_with_borders &&
                                 nest.channels <= most_with_borders &&
                                 std::ranges::all_of(nest.dims, is_dense);
  return nest.input.dtype == DType::f32 && nest.divides() && !nest.is_backward() &&
         nest.channels >= least_channels && nest.full_taps() >= least_taps && has_few_registers(layer) &&
         (are_borders_cheap || std::ranges::all_of(nest.dims, is_whole)) && are_rows_of_few_columns(layer);
}

// The same of bytes in lanes of 16 bits: 0.22 to 0.64 of the time, 24 to 256 channels on a Zen 5; 1 of it at
// 512.
bool are_short_sums_of_rows(const Layer& layer) {
  constexpr int64_t many_channels = 512;
  return sums_in_short_lanes(layer) && layer.nest().channels < many_channels && has_few_registers(layer) &&
         are_rows_of_few_columns(layer);
}

// Without masks a vector of more lanes than there are channels falls into a piece for each bit of their
// number: two of half the lanes that overlap take 0.4 to 0.6 of the time of three pieces. Of two pieces
// maxima of bytes take a little less, others a little more.
int lanes_of_channels(const Layer& layer, int64_t channels) {
  const PoolNest& nest = layer.nest();
  const int lanes = layer.fitting_lanes(channels_last_family.lanes, channels);
  if (are_bytes_of_half_vectors(layer, lanes)) return lanes / 2;
  const int many_pieces = facts_of(layer).is_idempotent && bytes(nest.input.dtype) == 1 ? 2 : 3;
  const bool falls_apart =
      lanes > nest.channels && std::popcount(static_cast<uint64_t>(nest.channels)) >= many_pieces;
  return falls_apart && !layer.can_mask() && largest_block(nest) == 1 ? lanes / 2 : lanes;
}

// Best first.
std::vector<ChannelsLastFields::Scan> scans_of(const Layer& layer, int lanes, int64_t vectors) {
  using Scan = ChannelsLastFields::Scan;
  std::vector scans = {Scan::rolling, Scan::windows};
  if (prefers_strips(layer)) scans.insert(scans.begin(), Scan::strips);
  if (prefers_whole_pixels(layer)) std::swap(scans.front(), scans.back());
  if (shares_little(layer, lanes, vectors) && scans.front() == Scan::rolling)
    std::swap(scans.front(), scans.back());
  return scans;
}

}  // namespace

Offer offer_channels_last(const Layer& layer, size_t most) {
  if (are_sums_of_rows(layer) || are_short_sums_of_rows(layer))
    return {{}, "sums of few columns: interleaved shares them for all channels"};
  if (are_rows_from_afar(layer))
    return {{}, "few columns of images beyond the near caches: interleaved shares them"};
  if (are_windows_tall(layer) && !offer_interleaved(layer, 1).schedules.empty())
    return {{}, "windows of many rows and few columns: interleaved rolls down the image"};
  return {channels_last_schedules(layer, lanes_of_channels(layer, layer.adjacent_channels_read()), most)};
}

std::vector<Schedule> channels_last_schedules(const Layer& layer, int lanes, size_t most) {
  const PoolNest& nest = layer.nest();
  Schedule schedule = schedule_of(Family::channels_last, lanes);
  auto& own = std::get<ChannelsLastFields>(schedule.own);
  using Scan = ChannelsLastFields::Scan;
  // What is left of the channels after the last whole block is done side by side too.
  const int64_t vectors = channel_vectors(nest, schedule.lanes);
  const bool one_each = schedule.lanes > 1 && takes_from_memory(nest);
  const std::vector<Scan> scans = scans_of(layer, schedule.lanes, vectors);
  std::vector<Schedule> found;
  const auto add = [&](Scan scan, int beside) {
    own.scan = scan;
    own.vectors_side_by_side = beside;
    schedule.tail = exact_tail(layer);
    if (!check(layer, schedule)) return;
    std::vector<Schedule> tails;
    add_tails(tails, schedule, layer, nest.channels);
    // The last vector of an overlapping tail begins anywhere, that of a masked one needs its mask.
    std::ranges::copy_if(tails, std::back_inserter(found), [&](const Schedule& one) {
      const bool is_cut = nest.channels % one.lanes != 0;
      return (largest_block(nest) == 1 || one.tail != Tail::overlap || !is_cut) && check(layer, one);
    });
  };
  const int indexed = with_indices(layer, schedule.lanes);
  // Taps that are straight-line code in part take more registers than loops.
  const auto add_indexed = [&] {
    const TapCode usual = own.tap_code;
    if (nest.full_taps() > Lowering::unroll_taps) own.tap_code = TapCode::loops;
    add(Scan::windows, indexed);
    own.tap_code = usual;
  };
  if (facts_of(layer).has_long_taps()) own.tap_code = TapCode::loops;
  const int part = part_of_pixel(layer, schedule.lanes, one_each, vectors);
  const auto add_all = [&] {
    if (part > 0) add(Scan::windows, part);
    if (indexed > 0) add_indexed();
    for (const Scan scan : scans)
      for (const int beside : {8, 4, 2, 1}) {
        if (found.size() >= most) return;
        if (scan == Scan::windows && beside == part) continue;
        const bool takes_all = beside == 8 && takes_five(layer, vectors);
        if (beside == 8 && (scan != Scan::windows || !(takes_all || pays_wide(layer)))) continue;
        if (beside == 4 && scan == Scan::windows && takes_two(layer)) continue;
        if (beside > 1 && (beside >= 2 * vectors || !(takes_all || leaves_room(layer, one_each, beside))))
          continue;
        add(scan, beside);
      }
  };
  add_all();
  if (found.empty() && own.tap_code == TapCode::straight) {
    own.tap_code = TapCode::loops;  // straight-line code would be too long
    add_all();
  }
  return found;
}

}  // namespace pooljit::ir
