#include "ir/schedules/row_passes_rules.h"

#include <utility>

#include "ir/schedules/pixel_rows.h"
#include "ir/schedules/pixel_strips.h"
#include "ir/schedules/row_rules.h"
#include "ir/schedules/row_strips.h"
#include "ir/schedules/shared_rows.h"

namespace pooljit::ir {
namespace {

// Windows of so many rows are best done in larger groups.
constexpr int64_t high_window = 9;
constexpr int64_t least_kernel = 5;   // of those that it pays for, but for long rows where registers are few
constexpr int64_t most_reach = 2048;  // elements of a row of pixels that a window may reach over
// Vectors that are needed at once beside one for each row.
constexpr int spare_registers = 7;
// The same beside what is held, before and after a vector.
constexpr int rolling_registers = 4;

bool have_passes(const NestDim& row) {
  return row.kind == DimKind::pool && row.stride == 1 && row.kernel > 1;
}

// Rows of outputs whose windows lie inside the image: groups are of these.
int64_t whole_rows(const PoolNest& rows) {
  const Interior whole = interior(rows.dims[rows.dims.size() - 2]);
  return whole.end - whole.begin;
}

// One layer and the vectors that it would be done in.
class Choice {
 public:
  Choice(const PoolNest& nest, const PoolNest& rows, int lanes, Isa isa, const ReductionFacts& facts)
      : nest_(nest),
        rows_(rows),
        row_(rows.dims.back()),
        lanes_(lanes),
        isa_(isa),
        facts_(facts),
        element_(bytes(rows.input.dtype)),
        are_pixels_(nest.channels > rows.channels) {}

  bool passes_pay() const { return has_few_registers(isa_) ? pay_with_few_registers() : pay_with_many(); }

  // Where windows had better come from one vector of columns after the other than from passes, or from what
  // channels_first shares: found by measuring planes of 19 to 1920 columns and windows of 5 to 31. On AVX2
  // shuffles of floats across halves of vectors cost what passes do.
  bool rolling_pays() const {
    if (has_few_registers(isa_)) {
      const bool is_short = is_plane() && row_.output < 10 * lanes_;
      const bool fill_vectors = element_ == 1 && lanes_ == info(isa_).vector_bytes;
      const int64_t least = !is_short ? 13 : fill_vectors ? 11 : 9;
      return row_.kernel >= least && element_ <= 2;
    }
    if (element_ == 2 && row_.kernel >= 7 && row_.output >= 128) return true;
    return row_.kernel > 16 || (row_.kernel >= 13 && row_.output >= 192) ||
           (row_.kernel >= 9 && row_.output >= 14 * lanes_);
  }

  // Best first: groups that are few would leave many rows to be done one by one.
  std::vector<int> rolling_groups() const {
    if (rows_.dims.size() == 1) return {1};
    const int64_t whole = whole_rows(rows_);
    if (has_few_registers(isa_)) {
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
    const bool few = has_few_registers(isa_) && rows_.dims.size() == 2;
    if (few && whole_rows(rows_) < 12) return {2, 4, 1, 8};
    const bool high = few ? kernel > high_window && whole_rows(rows_) >= 40 : kernel >= high_window;
    return high ? std::vector{8, 4, 2, 1} : std::vector{4, 2, 8, 1};
  }

 private:
  // Also where channels lie next to each other in images that outgrow a core's own caches: rows are read
  // whole.
  bool are_far_pixels() const {
    return are_pixels_ && prefers_whole_rows(nest_) && (element_ > 1 || 2 * nest_.channels >= lanes_);
  }
  bool far_pixels_pay() const {
    return row_.kernel * nest_.channels <= most_reach &&
           (element_ == 1 ? row_.kernel >= 9 : facts_.is_idempotent || row_.kernel >= 7);
  }

  // Where channels_first lacks the registers for what windows share, so that it takes tap by tap. Found by
  // measuring planes of 19 to 224 columns and windows of 5 to 31.
  bool pay_with_many() const {
    if (row_.kernel < least_kernel) return false;
    if (are_far_pixels()) return far_pixels_pay();
    const bool sums_bytes = element_ == 1 && !facts_.is_idempotent;
    const bool whole = are_pixels_ && prefers_whole_rows(nest_);
    if (row_.kernel <= 16) return (element_ == 2 || (sums_bytes && !whole)) && row_.output >= 128;
    // Shuffles of bytes that move 64 of them cost less than loads that straddle cache lines.
    return !facts_.is_idempotent || element_ > 1 || row_.output < 16 * lanes_;
  }

  // Found by measuring planes of 7 to 224 columns and windows of 3 to 21, of 1, 2 and 4 bytes, on AVX2
  // (docs/performance.md).
  bool pay_with_few_registers() const {
    if (row_.kernel < least_kernel) return pay_for_few_columns();
    if (are_far_pixels()) return far_pixels_pay();
    if (are_pixels_ && rolls_over_bytes(nest_, isa_, facts_)) return false;
    if (is_plane() && !are_pixels_ && shares_filled_rows(nest_, isa_, facts_)) return false;
    const Interior inside = interior(row_);
    const bool spares_borders = is_plane() && !can_mask(nest_, isa_) && nest_.input.dtype != DType::i16 &&
                                inside.end - inside.begin < row_.output;
    const bool is_long =
        row_.kernel >= 7 || row_.output >= 32 || (spares_borders && 2 * row_.output >= 3 * lanes_);
    return is_long && best_side_by_side(rows_, isa_, facts_, lanes_) == 1;
  }
  // In long rows of planes that are not walked row by row anyway, and where pixels of few channels would fill
  // no vector of another family.
  bool pay_for_few_columns() const {
    if (!is_plane() || least_vectors() == 0) return false;
    if (row_.kernel == 3 && nest_.dims.back().dilation > 1 && element_ > 1) return pay_for_dilated_columns();
    if (!are_pixels_)
      return row_.output >= least_vectors() * lanes_ && (element_ == 2 || !is_walked_by_row(rows_));
    const bool suits = element_ == 1 ? !facts_.is_idempotent : element_ == 2 && facts_.is_idempotent;
    return suits && has_few_channels(nest_, isa_) && row_.output >= 20 * lanes_;
  }
  // Taps that are far apart: neighbouring windows share nothing that shuffles could move.
  bool pay_for_dilated_columns() const {
    if (!facts_.is_idempotent) return false;
    if (are_pixels_) return element_ == 2 && nest_.dims.back().output >= 6 * nest_.dims.back().dilation;
    return row_.output >= (element_ == 2 ? 40 : 56);
  }
  // Of a row from which on windows of few columns pay; 0: they never do.
  int64_t least_vectors() const {
    const bool maxima = facts_.is_idempotent;
    switch (nest_.input.dtype) {
      case DType::u8:
      case DType::i8:
        return 6;
      case DType::bf16:
        return !maxima ? 3 : is_walked_by_row(rows_) ? 4 : 5;
      case DType::f16:
        return maxima ? 5 : 0;
      case DType::f32:
        return 20;
      default:
        return 0;
    }
  }
  bool is_plane() const { return rows_.dims.size() > 1; }

  const PoolNest &nest_, &rows_;
  const NestDim& row_;
  const int lanes_;
  const Isa isa_;
  const ReductionFacts& facts_;
  const int element_;
  const bool are_pixels_;
};

}  // namespace

PoolNest as_rows(const PoolNest& nest) { return has_pixel_rows(nest) ? as_one_channel(nest) : nest; }

bool can_take_rows(const PoolNest& rows, const ReductionFacts& facts) {
  return have_passes(rows.dims.back()) && !rows.indices && !rows.is_backward() && facts.any_order &&
         RowRules::columns_adjacent(rows);
}

bool can_roll_along(const PoolNest& rows, const Schedule& schedule, Isa isa, const ReductionFacts& facts) {
  const auto held = static_cast<int>(TrailingWindows(rows.dims.back(), schedule.lanes).held());
  return facts.is_idempotent &&
         2 * held + rolling_registers + extra_registers(rows, facts) <= info(isa).vector_registers;
}

bool can_group_rows(const PoolNest& rows, int group) {
  return group == 1 || (rows.dims.size() > 1 && can_share_rows(rows.dims[rows.dims.size() - 2], group));
}

bool holds_rows(const PoolNest& rows, const Schedule& schedule, Isa isa, const ReductionFacts& facts) {
  return schedule.unroll + spare_registers + extra_registers(rows, facts) <= info(isa).vector_registers;
}

std::vector<Schedule> enumerate_row_passes(const PoolNest& nest, Isa isa, int working_bytes, size_t most) {
  std::vector<Schedule> found;
  if (!have_passes(nest.dims.back()) || (nest.dims.back().kernel < least_kernel && !has_few_registers(isa)))
    return found;
  const PoolNest rows = as_rows(nest);
  const auto facts = reduction_facts(rows, isa, row_passes_lanes);
  if (!can_take_rows(rows, *facts)) return found;
  const NestDim& row = rows.dims.back();
  Schedule schedule{.family = Family::row_passes, .order = Order::rows_first};
  schedule.lanes = fitting_lanes(row.output, isa, working_bytes);
  while (schedule.lanes > stretch_of(row, 0, row.output).inside && schedule.lanes > 1) schedule.lanes /= 2;
  schedule.tail = can_mask(nest, isa)            ? Tail::mask
                  : row.output >= schedule.lanes ? Tail::overlap
                                                 : Tail::split;
  const Choice choice(nest, rows, schedule.lanes, isa, *facts);
  const auto add = [&](Order order, const std::vector<int>& groups) {
    schedule.order = order;
    for (const int group : groups) {
      schedule.unroll = group;
      if (!can_group_rows(rows, group) || !holds_rows(rows, schedule, isa, *facts)) continue;
      const std::vector<RowStrip> strips = cut_strips(rows, schedule, *facts);
      const bool suits = !strips.empty() && are_short(strips) && hold_vectors(strips, schedule) &&
                         (order != Order::rolling || follow_each_other(strips, schedule));
      if (suits) found.push_back(schedule);
      if (found.size() >= most) return;
    }
  };
  if (choice.rolling_pays() && can_roll_along(rows, schedule, isa, *facts)) {
    const Tail tail = std::exchange(schedule.tail, can_mask(nest, isa) ? Tail::mask : Tail::split);
    add(Order::rolling, choice.rolling_groups());
    schedule.tail = tail;
  }
  if (found.size() < most && choice.passes_pay()) add(Order::rows_first, choice.pass_groups());
  return found;
}

}  // namespace pooljit::ir
