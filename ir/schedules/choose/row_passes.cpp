#include <algorithm>
#include <utility>

#include "ir/schedules/choose/offers.h"
#include "ir/schedules/choose/pixels.h"
#include "ir/schedules/choose/rows.h"
#include "ir/schedules/families/row_passes_rules.h"
#include "ir/schedules/lowering/row_rules.h"
#include "ir/schedules/windows/stretch.h"

namespace pooljit::ir {
namespace {

// Windows of so many rows are best done in larger groups.
constexpr int64_t high_row_window = 9;
constexpr int64_t least_row_kernel =
    5;                                // of those that it pays for, but for long rows where registers are few
constexpr int64_t most_reach = 2048;  // elements of a row of pixels that a window may reach over
// Rows of outputs whose windows lie inside the image: groups are of these.
int64_t whole_rows(const PoolNest& rows) {
  const Interior whole = interior(rows.dims[rows.dims.size() - 2]);
  return whole.end - whole.begin;
}

// One layer and the vectors that it would be done in.
class Choice {
 public:
  Choice(const Layer& layer, const Layer& rows, int lanes)
      : layer_(layer),
        nest_(layer.nest()),
        row_layer_(rows),
        rows_(rows.nest()),
        row_(rows_.dims.back()),
        lanes_(lanes),
        facts_(rows.facts(row_passes_lanes)),
        element_(bytes(rows_.input.dtype)),
        are_pixels_(nest_.channels > rows_.channels) {}

  bool passes_pay() const { return has_few_registers(layer_) ? pay_with_few_registers() : pay_with_many(); }

  // Where windows had better come from one vector of columns after the other than from passes, or from what
  // channels_first shares: found by measuring planes of 19 to 1920 columns and windows of 5 to 31. On AVX2
  // shuffles of floats across halves of vectors cost what passes do.
  bool rolling_pays() const {
    if (has_few_registers(layer_)) {
      if (are_few_windows_of_bytes()) return false;
      const bool is_short = row_.output < 10 * lanes_;
      const bool fill_vectors = element_ == 1 && lanes_ == info(layer_.isa()).vector_bytes;
      const int64_t least = !is_short ? 13 : fill_vectors ? 11 : 9;
      return row_.kernel >= least && element_ <= 2;
    }
    if (element_ == 2 && row_.kernel >= 7 && row_.output >= 128) return true;
    return row_.kernel > 16 || (row_.kernel >= 13 && row_.output >= 192) ||
           (row_.kernel >= 9 && row_.output >= 14 * lanes_);
  }

  // Where sums of bytes had better roll down the image, in 16 bits: found by measuring planes of 14 to 1920
  // columns and windows of 2 to 63 (docs/notes/performance.md). What a row costs beside its vectors is more
  // than small planes save.
  bool rolling_sums_pay() const {
    if (rows_.dims.size() != 2) return false;
    const NestDim& down = rows_.dims[0];
    if (down.stride != 1 || down.output < 28 || row_.output < 28) return false;
    const int64_t kernel = std::min(down.kernel, row_.kernel);
    if (sums_in_short_lanes(row_layer_)) return false;
    if (!has_few_registers(layer_)) return true;
    if (kernel >= 15) return true;
    if (kernel >= 9) return row_.output >= 112;
    if (are_pixels_) return false;
    if (kernel >= 7) return row_.output >= 224;
    return row_.kernel < least_row_kernel && row_.output >= 480;
  }

  // Best first: groups that are few would leave many rows to be done one by one.
  std::vector<int> rolling_groups() const {
    if (rows_.dims.size() == 1) return {1};
    const int64_t whole = whole_rows(rows_);
    if (has_few_registers(layer_)) {
      if (whole >= 10 * 8) return {8, 4, 2, 16, 1};
      return whole >= 12 ? std::vector{4, 2, 8, 1} : std::vector{2, 1, 4, 8};
    }
    if (whole >= 13 * 16) return {16, 8, 4, 2, 1};
    if (whole >= 10 * 8) return {8, 16, 4, 2, 1};
    if (whole >= 8 * 4) return {4, 8, 2, 16, 1};
    return {2, 4, 8, 1};
  }

  std::vector<int> pass_groups() const {
    if (rows_.dims.size() == 1) return {1};
    const int64_t kernel = rows_.dims[rows_.dims.size() - 2].kernel;
    const bool few = has_few_registers(layer_) && rows_.dims.size() == 2;
    if (few && whole_rows(rows_) < 12) return {2, 4, 1, 8};
    const bool high = few ? kernel > high_row_window && whole_rows(rows_) >= 40 : kernel >= high_row_window;
    return high ? std::vector{8, 4, 2, 1} : std::vector{4, 2, 8, 1};
  }

 private:
  // Also where channels lie next to each other in images that outgrow a core's own caches: rows are read
  // whole.
  bool are_far_pixels() const {
    return are_pixels_ && prefers_whole_rows(layer_) && (element_ > 1 || 2 * nest_.channels >= lanes_);
  }
  bool far_pixels_pay() const {
    return row_.kernel * nest_.channels <= most_reach &&
           (element_ == 1 ? row_.kernel >= (sums_in_short_lanes(row_layer_) ? least_row_kernel : 9)
                          : facts_.is_idempotent || row_.kernel >= 7);
  }

  // Where channels_first lacks the registers for what windows share, so that it takes tap by tap. Found by
  // measuring planes of 19 to 224 columns and windows of 5 to 31.
  bool pay_with_many() const {
    if (row_.kernel < least_row_kernel) return false;
    if (sums_in_short_lanes(row_layer_) && row_.kernel <= 16) return false;
    if (are_far_pixels()) return far_pixels_pay();
    const bool sums_bytes = element_ == 1 && !facts_.is_idempotent;
    const bool whole = are_pixels_ && prefers_whole_rows(layer_);
    if (row_.kernel <= 16) return (element_ == 2 || (sums_bytes && !whole)) && row_.output >= 128;
    // Shuffles of bytes that move 64 of them cost less than loads that straddle cache lines.
    return !facts_.is_idempotent || element_ > 1 || row_.output < 16 * lanes_;
  }

  // Found by measuring planes of 7 to 224 columns and windows of 3 to 21, of 1, 2 and 4 bytes, on AVX2
  // (docs/notes/performance.md).
  bool pay_with_few_registers() const {
    if (row_.kernel < least_row_kernel) return pay_for_few_columns();
    if (!are_pixels_ && are_cheap_sums()) return false;
    if (are_few_windows_of_bytes()) return false;
    if (are_far_pixels()) return far_pixels_pay();
    if (are_pixels_ && (rolls_over_bytes(layer_) || are_bytes_of_vectors())) return false;
    if (!are_pixels_ && shares_filled_rows(layer_)) return false;
    const bool spares_borders =
        facts_.is_idempotent && !layer_.can_mask() && nest_.input.dtype != DType::i16 && has_borders(row_);
    const bool is_long =
        row_.kernel >= 7 || row_.output >= 32 || (spares_borders && 2 * row_.output >= 3 * lanes_);
    return is_long && best_side_by_side(row_layer_, lanes_).vectors == 1;
  }
  // Pixels that fill a vector: 0.72 to 0.93 of the time, windows of 5 columns whose rows share nothing.
  bool are_bytes_of_vectors() const {
    return nest_.channels >= info(layer_.isa()).vector_bytes && rolls_bytes_by_channels(layer_);
  }
  // Maxima of bytes in one row, which is no group: each of its lines is one of channels_first's loads. 0.13
  // to 0.9 of the time of trailing and passes, 20 to 300 columns and windows of 9 to 21 on a Granite Rapids
  // and a Zen 5; of longer rows up to 1.6.
  bool are_few_windows_of_bytes() const {
    constexpr int64_t few_taps = 5000;
    return rows_.dims.size() == 1 && !are_pixels_ && element_ == 1 && facts_.is_idempotent &&
           row_.output * row_.kernel < few_taps;
  }
  // Sums that other families add faster than lines go through scratch memory: of one row, of short rows and
  // of windows of few floats. 0.24 to 1.04 of the time on a Zen 5 and a Granite Rapids.
  bool are_cheap_sums() const {
    constexpr int64_t short_row = 32, few_columns = 7, short_row_of_bytes = 200;
    if (facts_.is_idempotent) return false;
    const bool are_floats = nest_.input.dtype == DType::f32;
    if (rows_.dims.size() == 1) return are_floats || (element_ == 1 && row_.output < short_row_of_bytes);
    return are_floats && (row_.output < short_row || row_.kernel < few_columns);
  }
  // In long rows of planes that are not walked row by row anyway, and where pixels of few channels would fill
  // no vector of another family.
  bool pay_for_few_columns() const {
    const bool is_one_row = rows_.dims.size() == 1;
    if (least_vectors() == 0 || (is_one_row && (!facts_.is_idempotent || row_.kernel < 3))) return false;
    if (nest_.input.dtype == DType::f32 && nest_.dims.back().dilation == 1) {
      // Long rows that end in a part of a vector: 0.70 to 0.87 of channels_first's time, sums 0.82 to 0.97.
      const int64_t least = (facts_.is_idempotent ? 8 : 16) * int64_t{lanes_};
      if (!are_pixels_ && row_.kernel > 2 && row_.output >= least && row_.output % lanes_ != 0) return true;
      // Images that outgrow all but the last cache: half of channels_last's time for 19 MB.
      const bool is_far = layer_.image_bytes() > 12 * near_bytes;
      if (are_pixels_ && facts_.is_idempotent && row_.kernel == 3 && is_far) return true;
    }
    // Taps that are far apart: neighbouring windows share nothing that shuffles could move. 0.6 to 0.95 of
    // the time on a Zen 5 and a Granite Rapids; of rows of few windows up to 1.4.
    if (const NestDim& given = nest_.dims.back(); row_.kernel == 3 && given.dilation > 1 && element_ > 1)
      return given.output >= 6 * given.dilation;
    if (!are_pixels_)
      return row_.output >= least_vectors() * lanes_ &&
             (element_ == 2 || sums_in_short_lanes(row_layer_) || !is_walked_by_row(row_layer_));
    if (sums_in_short_lanes(row_layer_) && is_walked_by_row(row_layer_)) return true;
    const bool suits = element_ == 1 ? !facts_.is_idempotent : element_ == 2;
    return suits && has_few_channels(layer_) && row_.output >= 20 * lanes_;
  }
  // Of a row from which on windows of few columns pay; 0: they never do.
  int64_t least_vectors() const {
    const bool maxima = facts_.is_idempotent;
    switch (nest_.input.dtype) {
      case DType::u8:
      case DType::i8:
        return sums_in_short_lanes(row_layer_) ? 20 : 6;
      case DType::bf16:
        return !maxima ? 6 : is_walked_by_row(row_layer_) ? 4 : 5;
      case DType::f16:
        return maxima ? 5 : 0;
      case DType::f32:
        return 20;
      default:
        return 0;
    }
  }

  const Layer& layer_;
  const PoolNest& nest_;
  const Layer& row_layer_;  // what the family walks over
  const PoolNest& rows_;
  const NestDim& row_;
  const int lanes_;
  const ReductionFacts& facts_;
  const int element_;
  const bool are_pixels_;
};

}  // namespace

Offer offer_row_passes(const Layer& layer, size_t most) {
  const NestDim& given = layer.nest().dims.back();
  if (given.kind != DimKind::pool || given.stride != 1 || given.kernel < 2) return {};
  const bool are_few = given.kernel < least_row_kernel && !has_few_registers(layer);
  const auto left_to_registers = [] {
    return Offer{{}, "windows of few columns: channels_first takes them in registers"};
  };
  if (are_few && (layer.nest().is_extreme() || bytes(layer.nest().input.dtype) > 1))
    return left_to_registers();
  const PoolNest nest = as_rows(layer.nest());
  const Layer rows = layer.over(nest);
  if (!can_take_rows(nest, rows.facts(row_passes_lanes))) return {};
  if (nest.channels == layer.nest().channels && rolls_wide_windows(rows))
    return {{}, "wide windows: channels_first rolls several vectors side by side"};
  const NestDim& row = nest.dims.back();
  Schedule schedule = schedule_of(Family::row_passes);
  using Scan = RowPassesFields::Scan;
  schedule.lanes = layer.fitting_lanes(row_passes_lanes, row.output);
  while (schedule.lanes > stretch_of(row, 0, row.output).inside && schedule.lanes > 1) schedule.lanes /= 2;
  schedule.tail = layer.can_mask() || row.output < schedule.lanes ? exact_tail(layer) : Tail::overlap;
  const Choice choice(layer, rows, schedule.lanes);
  if (are_few && !choice.rolling_sums_pay()) return left_to_registers();
  Offer offer;
  const auto add = [&](Scan scan, const std::vector<int>& groups) {
    for (const int group : groups) {
      schedule.own = RowPassesFields{.rows_together = group, .scan = scan};
      if (check(layer, schedule)) offer.schedules.push_back(schedule);
      if (offer.schedules.size() >= most) return;
    }
  };
  if (choice.rolling_sums_pay()) add(Scan::rolling_sums, {1});
  const bool rolls = choice.rolling_pays(), passes = choice.passes_pay();
  if (offer.schedules.size() < most && rolls) {
    const Tail tail = std::exchange(schedule.tail, exact_tail(layer));
    add(Scan::trailing, choice.rolling_groups());
    schedule.tail = tail;
  }
  if (offer.schedules.size() < most && passes) add(Scan::passes, choice.pass_groups());
  if (offer.schedules.empty() && !rolls && !passes)
    offer.left = "what windows share costs less in registers than through scratch memory";
  return offer;
}

}  // namespace pooljit::ir
