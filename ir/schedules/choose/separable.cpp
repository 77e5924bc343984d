#include <algorithm>
#include <initializer_list>

#include "ir/schedules/choose/offers.h"
#include "ir/schedules/choose/pixels.h"
#include "ir/schedules/choose/rows.h"
#include "ir/schedules/families/channels_last_strips.h"
#include "ir/schedules/lanes/channel_blocks.h"

namespace pooljit::ir {
namespace {

// From so many taps along both dimensions on windows share enough for scratch memory to pay; of bytes, whose
// taps cost one instruction for 64 outputs, more.
constexpr int64_t least_kernel = 5, least_of_bytes = 7;
// The same where channels_last can roll two vectors side by side, which shares the columns: of sums and
// bytes, of maxima in long rows.
constexpr int64_t least_beside_rolling = 8, least_of_long_rows = 6, long_row = 24;
// Rows of so few sums of bytes leave little to roll along: 0.64 to 0.82 of channels_last's time on a Zen 5,
// windows of 5; of 28 sums 1.2.
constexpr int64_t few_sums = 20;
// Fewer windows next to each other share too little; of large windows two share most of their taps.
constexpr int64_t least_outputs = 4, least_of_large = 2, large_window = 9;

const NestDim& columns_of(const Layer& layer) { return layer.nest().dims.back(); }
const NestDim& rows_of(const Layer& layer) { return layer.nest().dims[layer.nest().dims.size() - 2]; }
int64_t kernel_of(const Layer& layer) { return std::min(columns_of(layer).kernel, rows_of(layer).kernel); }
const ReductionFacts& separable_facts(const Layer& layer) { return layer.facts(separable_family.lanes); }

bool can_roll_beside(const Layer& layer, int vectors) {
  return can_roll(layer.nest(), separable_facts(layer), layer.isa(), vectors);
}

// Pixels of several vectors: what rolls along the row reads each of them for as many rows as windows have, a
// vector at a time. On a Zen 5 0.35 to 0.95 of the time for 96 to 1280 channels of float32, images of 0.06 to
// 8 MB and windows of 5 to 7 (of 4 only where images outgrow the first cache by far); halves and maxima of
// bytes 0.4 to 0.8.
bool beats_rolling(const Layer& layer) {
  constexpr int64_t least_of_floats = 96, least_of_few_columns = 256, least_of_halves = 192;
  constexpr int64_t wide_window = 6, least_bytes = 384, least_bytes_of_five = 640;
  constexpr int64_t most_columns = 64;  // of longer rows too many lines are kept: up to four times the time
  if (has_few_registers(layer) || columns_of(layer).output > most_columns) return false;
  const int64_t channels = layer.nest().channels, kernel = kernel_of(layer);
  switch (layer.nest().input.dtype) {
    case DType::f32:
      if (kernel >= least_kernel) return channels >= least_of_floats;
      return kernel == 4 && channels >= least_of_few_columns &&
             layer.image_bytes() > layer.machine().near_bytes / 2;
    case DType::bf16:
    case DType::f16:
      return kernel >= (separable_facts(layer).is_idempotent ? wide_window : least_kernel) &&
             channels >= least_of_halves;
    case DType::u8:
    case DType::i8:
      return separable_facts(layer).is_idempotent && kernel >= least_kernel &&
             channels >= (kernel >= wide_window ? least_bytes : least_bytes_of_five) &&
             layer.image_bytes() <= layer.machine().near_bytes;
    default:
      return false;
  }
}

// Where registers are few: row_passes, and channels_last for bytes. Found by measuring images of 7 to 224
// columns and 8 to 1024 channels on AVX2.
bool is_served_better_with_few_registers(const Layer& layer) {
  const bool are_bytes = bytes(layer.nest().input.dtype) == 1, has_long_rows = columns_of(layer).output >= 40;
  const bool maxima = separable_facts(layer).is_idempotent;
  if (are_bytes && maxima) return has_long_rows && rolls_over_bytes(layer);
  const bool are_far_sums = are_bytes && sums_in_short_lanes(layer) && prefers_whole_rows(layer);
  const bool few_taps = kernel_of(layer) < 7 && bytes(layer.nest().input.dtype) >= 4;
  const bool pays =
      has_few_channels(layer) || are_far_sums ||
      (maxima ? (has_long_rows && kernel_of(layer) < 9) || few_taps : has_long_rows && few_taps);
  return pays && !offer_row_passes(layer, 1).schedules.empty();
}

// What other families do better: windows of few columns, and images that outgrow a core's own caches, of
// which this family reads a part of each pixel at a time.
std::string_view served_better(const Layer& layer) {
  const int lane_bytes = layer.lane_bytes(separable_family.lanes);
  const int lanes = layer.fitting_lanes(separable_family.lanes, layer.adjacent_channels());
  const bool sums_or_bytes = !separable_facts(layer).is_idempotent || lane_bytes == 1;
  const int64_t least = sums_or_bytes                          ? least_beside_rolling
                        : columns_of(layer).output >= long_row ? least_of_long_rows
                                                               : least_kernel;
  if (kernel_of(layer) < least && can_roll_beside(layer, channel_vectors(layer.nest(), lanes) > 1 ? 2 : 1))
    return "windows of few columns: channels_last rolls along the row";
  if (has_few_registers(layer) && is_served_better_with_few_registers(layer))
    return "registers are few: row_passes, or channels_last for bytes";
  if (!prefers_whole_rows(layer)) return {};
  constexpr std::string_view is_far =
      "the image outgrows the core's caches, and others read its pixels whole";
  if (kernel_of(layer) < least_beside_rolling && can_roll_beside(layer, 1)) return is_far;
  const std::vector<Schedule> by_rows = offer_row_passes(layer, 1).schedules;
  if (sums_in_short_lanes(layer)) return !by_rows.empty() || can_roll_beside(layer, 1) ? is_far : "";
  const bool others_read_rows =
      !by_rows.empty() && (bytes(layer.nest().input.dtype) > 1 || !takes_passes(by_rows[0]));
  return others_read_rows ? is_far : "";
}

constexpr int64_t quarter_page = 1024, half_page = 2048, one_page = 4096;

// Pixels of the input or output lie so that all begin in few sets of the caches. Then others wait for lines
// that were there before, and the more of each pixel is taken at a time the better: found by measuring images
// of 7 to 56 columns and pixels of 1 to 16 KiB on a Zen 5.
bool do_pixels_meet(const Layer& layer, int64_t apart) {
  const auto meet = [&](const View& view) { return view.strides.back() * bytes(view.dtype) % apart == 0; };
  return !has_few_registers(layer) && (meet(layer.nest().input) || meet(layer.nest().output));
}

// Bytes that pixels lie apart, or a multiple of them, where they meet.
int64_t meeting_bytes(const Layer& layer, bool few_long) {
  constexpr int64_t many_rows = 11;
  if (few_long) return one_page;
  return layer.nest().input.dtype == DType::f32 && kernel_of(layer) >= many_rows ? quarter_page : half_page;
}

bool has_windows_for_it(const PoolNest& nest) {
  const auto overlaps = [](const NestDim& dim) {
    return dim.kind == DimKind::pool && dim.stride == 1 && dim.dilation == 1 && dim.kernel > 1;
  };
  const size_t rank = nest.dims.size();
  return rank >= 2 && overlaps(nest.dims[rank - 1]) && overlaps(nest.dims[rank - 2]) && !nest.indices &&
         !nest.is_backward();
}

// Windows of three rows and columns over few long pixels, which do not stay in the first cache until the next
// row needs them, but whose sums or maxima of columns do: 0.55 to 1 of the time of channels_last on a Zen 5,
// 448 to 2048 channels of float32 and 6 to 9 columns.
bool are_few_long_pixels(const Layer& layer) {
  constexpr int64_t least_bytes = 1792, long_bytes = 5120, few_columns = 7, most_columns = 9,
                    most_of_long = 12;
  const PoolNest& nest = layer.nest();
  const int64_t pixel = nest.channels * bytes(nest.input.dtype), columns = columns_of(layer).output;
  const bool are_three = nest.dims.size() == 2 && columns_of(layer).kernel == 3 && rows_of(layer).kernel == 3;
  return !has_few_registers(layer) && nest.input.dtype == DType::f32 && are_three && pixel >= least_bytes &&
         nest.channels % layer.fitting_lanes(separable_family.lanes, layer.adjacent_channels()) == 0 &&
         columns <= (pixel >= long_bytes ? most_of_long : most_columns) &&
         layer.image_bytes() >= first_cache_image && layer.image_bytes() <= layer.machine().near_bytes &&
         (!do_pixels_meet(layer, one_page) || (pixel >= long_bytes && columns >= few_columns));
}

// Of all sizes. Beside channels_last on a busy Zen 5, float32 of 256 to 1024 channels, 20 to 80 columns,
// AVX-512: sums of 5x5 0.5 to 0.7 of the time, of 7x7 to 13x13 0.06 to 0.4 (one window 0.7 to 1.9); maxima of
// 5x5 0.9 to 1.3, of 9x9 0.5 to 0.6; with AVX2, where one vector rolls, of 5x5 0.45. channels_last does not
// roll over longer rows at all.
Offer offer_pieces(const Layer& layer) {
  constexpr int64_t least_of_sums = 5, least_of_maxima = 6, least_with_few_registers = 5;
  const int64_t least = !separable_facts(layer).is_idempotent ? least_of_sums
                        : has_few_registers(layer)            ? least_with_few_registers
                                                              : least_of_maxima;
  if (kernel_of(layer) < least) return {{}, "windows share too little for scratch memory to pay"};
  Schedule schedule = schedule_of(Family::separable);
  schedule.lanes = layer.fitting_lanes(separable_family.lanes, layer.adjacent_channels());
  schedule.tail = exact_tail(layer);
  const int64_t vectors = channel_vectors(layer.nest(), schedule.lanes);
  Offer offer;
  for (const int beside : {4, 2, 1}) {
    schedule.own = SeparableFields{.vectors_side_by_side = beside, .scan = SeparableFields::Scan::van_herk};
    if ((beside == 1 || beside < 2 * vectors) && check(layer, schedule)) offer.schedules.push_back(schedule);
  }
  return offer;
}

}  // namespace

Offer offer_separable(const Layer& layer, size_t most) {
  if (!has_windows_for_it(layer.nest()) || !separable_facts(layer).any_order) return {};
  if (layer.nest().has_any_size()) return offer_pieces(layer);
  const bool few_long = are_few_long_pixels(layer);
  const bool pixels_meet = do_pixels_meet(layer, meeting_bytes(layer, few_long));
  const bool beats = beats_rolling(layer);
  if (!pixels_meet && !few_long && !beats)
    if (const std::string_view better = served_better(layer); !better.empty()) return {{}, better};
  const int lane_bytes = layer.lane_bytes(separable_family.lanes);
  // Sums of bytes cost more than maxima, and channels_last takes them tap by tap where registers are few.
  const bool has_cheap_taps =
      lane_bytes == 1 && (separable_facts(layer).is_idempotent || !has_few_registers(layer));
  const bool are_few_sums = !separable_facts(layer).is_idempotent && columns_of(layer).output <= few_sums;
  const bool are_large = beats && kernel_of(layer) >= large_window;
  if (std::min(columns_of(layer).output, rows_of(layer).output) <
          (are_large ? least_of_large : least_outputs) ||
      (!few_long && !beats &&
       kernel_of(layer) < (has_cheap_taps && !are_few_sums ? least_of_bytes : least_kernel)))
    return {{}, "windows share too little for scratch memory to pay"};
  Offer offer;
  Schedule schedule = schedule_of(Family::separable);
  using Scan = SeparableFields::Scan;
  schedule.lanes = layer.fitting_lanes(separable_family.lanes, layer.adjacent_channels());
  schedule.tail = exact_tail(layer);
  const int64_t vectors = channel_vectors(layer.nest(), schedule.lanes);
  const auto add = [&](Scan scan, std::initializer_list<int> numbers) {
    for (const int beside : numbers) {
      schedule.own = SeparableFields{.vectors_side_by_side = beside, .scan = scan};
      if (offer.schedules.size() >= most || (beside > 1 && beside >= 2 * vectors)) continue;
      if (check(layer, schedule)) offer.schedules.push_back(schedule);
    }
  };
  // Several vectors at once hide what one waits for its own results.
  if (has_few_registers(layer) && layer.nest().input.dtype == DType::f32) {
    add(Scan::rolling, {4, 2});
    add(Scan::van_herk, {4, 2});
    add(Scan::rolling, {1});
    add(Scan::van_herk, {1});
  } else {
    if (pixels_meet && few_long) add(Scan::van_herk, {8});
    add(pixels_meet ? Scan::van_herk : Scan::rolling, {4, 2, 1});
    add(pixels_meet ? Scan::rolling : Scan::van_herk, {4, 2, 1});
  }
  return offer;
}

}  // namespace pooljit::ir
