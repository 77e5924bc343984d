#include <algorithm>
#include <initializer_list>
#include <limits>
#include <optional>

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

// Bytes of a row of pixels that lie in the sets of a cache that few others share: pixels whose distance is a
// multiple of a large power of two begin in few sets. The longer the row, the more of its lines, which what
// rolls along it needs again for the next row, push each other out. Seen on a Zen 5: on a Cascade Lake van
// Herk's algorithm takes 1.1 to 1.6 of the time however much of a row crowds. 0 where it was not seen.
int64_t crowded_bytes(const Layer& layer) {
  if (layer.machine().crowded_row == 0) return 0;
  const View& input = layer.nest().input;
  const int64_t apart = input.strides.back() * bytes(input.dtype);
  return (apart & -apart) * columns_of(layer).input;
}

// Layers whose rows and columns are best reduced one after the other, whatever others offer for them:
// measured beside what they offer on a Zen 5, images of 7 to 80 rows and columns and 48 to 2048 channels.
struct Winning {
  enum Registers { few, many };
  enum Values { floats, halves, bytes };  // float32; bfloat16 and float16; integers of 8 bits
  enum What { sums, extremes, both };

  Registers registers;
  Values values;
  What what;
  int64_t least_kernel, most_kernel;
  int64_t least_pixel;              // bytes
  int64_t least_crowded;            // KiB of crowded_bytes()
  int64_t least_image, most_image;  // sixteenths of near_bytes
};

constexpr int64_t any = std::numeric_limits<int64_t>::max();

// What rolls along a row reads each pixel for as many rows as windows have, a vector at a time; few registers
// cannot roll over windows of 4 and 6 sums at all. Behind each row, the share of the time.
constexpr Winning winning[] = {
    {Winning::many, Winning::floats, Winning::both, 5, any, 384, 0, 0, any},        // 0.35 to 0.95
    {Winning::many, Winning::floats, Winning::sums, 5, any, 256, 0, 0, 7},          // 0.45 to 0.95
    {Winning::many, Winning::floats, Winning::both, 4, 4, 1024, 0, 8, any},         // 0.6 to 0.95
    {Winning::many, Winning::floats, Winning::both, 4, 4, 1024, 9, 0, any},         // 0.45 to 0.9
    {Winning::many, Winning::halves, Winning::sums, 5, any, 384, 0, 0, any},        // 0.4 to 0.8
    {Winning::many, Winning::halves, Winning::extremes, 6, any, 384, 0, 0, any},    // 0.4 to 0.8
    {Winning::many, Winning::halves, Winning::extremes, 4, 5, 1024, 20, 0, any},    // 0.55 to 1
    {Winning::many, Winning::bytes, Winning::sums, 4, any, 512, 20, 0, any},        // 0.4 to 1.1
    {Winning::many, Winning::bytes, Winning::extremes, 6, any, 384, 0, 0, 16},      // 0.4 to 0.8
    {Winning::many, Winning::bytes, Winning::extremes, 6, any, 128, 0, 0, 1},       // 0.5 to 0.8
    {Winning::many, Winning::bytes, Winning::extremes, 5, 5, 640, 0, 0, 16},        // 0.4 to 0.8
    {Winning::many, Winning::bytes, Winning::extremes, 5, any, 256, 20, 0, any},    // 0.45 to 0.9
    {Winning::few, Winning::floats, Winning::both, 4, 4, 256, 14, 0, any},          // 0.3 to 0.9
    {Winning::few, Winning::floats, Winning::sums, 5, any, 1024, 0, 0, any},        // 0.25 to 1
    {Winning::few, Winning::floats, Winning::sums, 6, 6, 256, 0, 0, any},           // 0.1 to 1
    {Winning::few, Winning::floats, Winning::extremes, 5, 6, 256, 0, 0, 4},         // 0.65 to 0.85, and 1.2
    {Winning::few, Winning::floats, Winning::extremes, 5, any, 2048, 16, 16, any},  // 0.2 to 0.55
    {Winning::few, Winning::halves, Winning::sums, 4, 4, 128, 0, 0, any},           // 0.5 to 0.8
    {Winning::few, Winning::halves, Winning::extremes, 3, 3, 128, 0, 0, 16},        // 0.6 to 1.1
    {Winning::few, Winning::halves, Winning::extremes, 4, 4, 512, 9, 0, any},       // 0.4 to 1
    {Winning::few, Winning::halves, Winning::extremes, 5, any, 2048, 16, 0, any},   // 0.15 to 0.8
    {Winning::few, Winning::halves, Winning::extremes, 7, any, 1024, 16, 0, any},   // 0.15 to 0.65
    {Winning::few, Winning::bytes, Winning::sums, 4, 4, 128, 0, 0, any},            // 0.6 to 0.8
    {Winning::few, Winning::bytes, Winning::extremes, 4, 4, 512, 12, 0, any},       // 0.35 to 0.7
    {Winning::few, Winning::bytes, Winning::extremes, 5, 5, 1024, 0, 0, 3},         // 0.7 to 0.85
    {Winning::few, Winning::bytes, Winning::extremes, 6, any, 512, 16, 0, any},     // 0.35 to 0.8
};

std::optional<Winning::Values> values_of(DType dtype) {
  switch (dtype) {
    case DType::f32:
      return Winning::floats;
    case DType::bf16:
    case DType::f16:
      return Winning::halves;
    case DType::u8:
    case DType::i8:
      return Winning::bytes;
    default:
      return std::nullopt;
  }
}

bool wins(const Layer& layer) {
  constexpr int64_t most_columns = 64;  // of longer rows too many lines are kept: up to four times the time
  const PoolNest& nest = layer.nest();
  const auto values = values_of(nest.input.dtype);
  if (!values || columns_of(layer).output > most_columns) return false;
  const int64_t sixteenth = near_bytes / 16;
  const Winning::Registers registers = has_few_registers(layer) ? Winning::few : Winning::many;
  const Winning::What what = separable_facts(layer).is_idempotent ? Winning::extremes : Winning::sums;
  return std::ranges::any_of(winning, [&](const Winning& row) {
    return row.registers == registers && row.values == *values &&
           (row.what == what || row.what == Winning::both) && kernel_of(layer) >= row.least_kernel &&
           kernel_of(layer) <= row.most_kernel &&
           nest.channels * bytes(nest.input.dtype) >= row.least_pixel &&
           crowded_bytes(layer) >= row.least_crowded << 10 &&
           layer.image_bytes() >= sixteenth * row.least_image &&
           (row.most_image == any || layer.image_bytes() <= sixteenth * row.most_image);
  });
}

// van Herk's algorithm reads several vectors of each pixel at a time, once. Where rows crowd, 0.3 to 0.9 of
// the time of rolling windows; elsewhere 1.1 to 1.4, with few registers 0.9 to 1.2.
bool are_rows_crowded(const Layer& layer) {
  const bool widens = !separable_facts(layer).is_idempotent && bytes(layer.nest().input.dtype) == 2;
  const int64_t least = layer.machine().crowded_row, crowded = crowded_bytes(layer);
  return crowded > 0 && crowded >= (has_few_registers(layer) ? least * 2 / 5
                                    : widens                 ? least * 8 / 5
                                                             : least);
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
  if (layer.machine().crowded_row == 0) return false;
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
         layer.image_bytes() >= first_cache_image && layer.image_bytes() <= near_bytes &&
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
  const bool beats = wins(layer);
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
  // What of the rows of a window has to stay near the core meanwhile.
  const int64_t lines_bytes = (columns_of(layer).output + kernel_of(layer) - 1) * kernel_of(layer) *
                              schedule.lanes * separable_facts(layer).held_bytes;
  const int64_t most_lines_bytes = near_bytes / (layer.nest().input.dtype == DType::f32 ? 7 : 9);
  const auto add = [&](Scan scan, std::initializer_list<int> numbers) {
    for (const int beside : numbers) {
      schedule.own = SeparableFields{.vectors_side_by_side = beside, .scan = scan};
      if (offer.schedules.size() >= most || (beside > 1 && beside >= 2 * vectors)) continue;
      if (scan == Scan::van_herk && beside > 1 && lines_bytes * beside > most_lines_bytes) continue;
      if (check(layer, schedule)) offer.schedules.push_back(schedule);
    }
  };
  // Several vectors at once hide what one waits for its own results.
  const bool floats_of_few = has_few_registers(layer) && layer.nest().input.dtype == DType::f32;
  const bool herks = pixels_meet || (!floats_of_few && are_rows_crowded(layer));
  if (floats_of_few) {
    add(Scan::rolling, {4, 2});
    add(Scan::van_herk, {4, 2});
    add(Scan::rolling, {1});
    add(Scan::van_herk, {1});
  } else {
    if (pixels_meet && few_long) add(Scan::van_herk, {8});
    // Windows of 4 and 6 roll in fewer registers: two vectors of them side by side are as fast.
    if (herks && !pixels_meet && kernel_of(layer) % 2 == 0) add(Scan::rolling, {4, 2});
    add(herks ? Scan::van_herk : Scan::rolling, {4, 2, 1});
    add(herks ? Scan::rolling : Scan::van_herk, {4, 2, 1});
  }
  return offer;
}

}  // namespace pooljit::ir
