// channels_first: a vector holds neighbouring outputs of one row (the innermost dimension) of one channel.
//
// A row is cut into tiles of `lanes` outputs. Inside the image tiles repeat: one loop, of as many tiles as it
// takes until windows lie alike again (one for ordinary pooling). At the borders and at the end a tile has
// constant masks: lanes outside the image load the identity. Where the ISA cannot mask, a vector at a border
// is loaded from inside the row and its lanes moved to their place (tail=overlap), or border outputs are done
// one by one and the rest of the row in smaller and smaller vectors (tail=split). Lanes that lie apart
// come from contiguous loads and shuffles.
//
// order=rows_first reduces the taps of the outer dimensions first, on the contiguous vectors, and the row's
// once per tile; with unroll=R it does so for R rows of outputs together, which share the input rows that
// they have in common. row_major takes every tap in its place, which indices and `zeros=first` need.
// order=rolling walks down a tile's rows, reduces each row once and lets the windows of neighbouring outputs
// share that; with unroll=U a tile is U vectors side by side, which share columns.
#include <algorithm>
#include <array>

#include "ir/schedules/family.h"
#include "ir/schedules/row_code.h"
#include "ir/schedules/row_cost.h"
#include "ir/schedules/window_rows.h"

namespace pooljit::ir {
namespace {

constexpr LaneUse lane_use = LaneUse::moved;

// Rows of outputs that may be done together, best first, and so for windows of many rows.
constexpr std::array groups = {4, 3, 2, 8};
constexpr std::array groups_of_high_windows = {8, 4, 3, 2};
constexpr int64_t high_window = 9;
constexpr int64_t least_paired = 16;  // outputs of a padded row of narrow elements, for pairs of rows

// The schedules of one nest, best first, until there are `most`.
class Enumeration {
 public:
  Enumeration(const PoolNest& nest, Isa isa, int working_bytes, size_t most, const ReductionFacts& facts)
      : nest_(nest),
        isa_(isa),
        most_(most),
        facts_(facts),
        dim_(nest.dims.back()),
        fitting_(fitting_lanes(dim_.output, isa, working_bytes)),
        cut_{fitting_, can_mask(nest, isa) ? Tail::mask : Tail::split} {
    if (facts.any_order && dim_.kind == DimKind::pool)
      cut_ = cheapest_cut(nest, isa, facts, fitting_, working_bytes);
  }

  std::vector<Schedule> run() {
    if (const int beside = best_side_by_side(nest_, isa_, facts_, fitting_); beside > 1)
      add_side_by_side(beside);
    add_lanes(cut_.lanes);
    if (cut_.lanes != fitting_) add_lanes(fitting_);
    for (const int beside : {2, 3, 4}) add_side_by_side(beside);
    return std::move(found_);
  }

 private:
  void add_lanes(int lanes) {
    schedule_.lanes = lanes;
    if (facts_.any_order) dim_.stride == 1 ? add_dense() : add_strided();
    add(Order::row_major);
  }

  void add_dense() {
    const bool by_row = is_walked_by_row(nest_);
    if (by_row) add_groups();
    add(Order::rolling);
    add(Order::rows_first);
    if (!by_row) add_groups();
  }

  void add_side_by_side(int vectors) {
    if (dim_.stride != 1 || !can_mask(nest_, isa_)) return;
    schedule_.lanes = fitting_;
    schedule_.order = Order::rolling;
    schedule_.unroll = vectors;
    add_tail(Tail::mask);
  }

  // Lanes of a strided row are shuffled once per tile rows first, once per row rolling.
  void add_strided() {
    const bool wide_file = !has_few_registers(isa_);
    const bool padded = dim_.pad_begin + dim_.pad_end > 0, narrow = bytes(nest_.output.dtype) < 4;
    const bool rolls = stores_whole_vectors(dim_.output, {schedule_.lanes, cut_.tail}) &&
                       2 * dim_.output <= 3 * schedule_.lanes && (wide_file || padded);
    const bool in_pairs =
        wide_file && dim_.output % 2 == 0 && (!padded || (narrow && dim_.output >= least_paired));
    if (rolls) add(Order::rolling);
    if (in_pairs) add(Order::rows_first, 2);
    if (!wide_file && dim_.output >= 2 * schedule_.lanes) add_few();
    add(Order::rows_first);
    add_groups();
    if (!rolls) add(Order::rolling);
  }

  // Rows of outputs whose windows have rows enough in common, where registers are few.
  void add_few() {
    const bool sums = !facts_.is_idempotent, narrow = bytes(nest_.output.dtype) < 4;
    const int64_t kernel = nest_.dims.size() > 1 ? nest_.dims[nest_.dims.size() - 2].kernel : 1;
    if (kernel >= 5 && sums) add(Order::rows_first, 3);
    if (kernel >= 5 ? !narrow : sums && narrow) add(Order::rows_first, 2);
  }

  void add_groups() {
    const bool high = nest_.dims.size() > 1 && nest_.dims[nest_.dims.size() - 2].kernel >= high_window;
    // Sums of so many rows are long chains in either form, and short code is fetched faster.
    if (high && !facts_.is_idempotent) schedule_.taps = Taps::loop;
    for (const int rows : high ? groups_of_high_windows : groups) add(Order::rows_first, rows);
    schedule_.taps = Taps::unroll;
  }

  void add(Order order, int rows = 1) {
    schedule_.order = order;
    schedule_.unroll = rows;
    const bool overlap_first = cut_.tail == Tail::overlap;
    if (overlap_first) add_overlap();
    if (can_mask(nest_, isa_)) add_tail(Tail::mask);
    const bool fills = can_fill_borders(nest_, isa_, schedule_.lanes);
    if (!overlap_first && (fills || dim_.output % schedule_.lanes != 0)) add_overlap();
    add_tail(Tail::split);
  }

  void add_overlap() {
    if (found_.size() < most_ && RowRules(nest_, schedule_, isa_, facts_).overlappable() >= schedule_.lanes)
      add_tail(Tail::overlap);
  }

  void add_tail(Tail tail) {
    if (found_.size() >= most_) return;
    schedule_.tail = tail;
    const RowRules rules(nest_, schedule_, isa_, facts_);
    if (!rules.is_short()) return;
    if (schedule_.order == Order::rolling && !rules.can_roll()) return;
    if (schedule_.order == Order::rows_first &&
        !(schedule_.unroll > 1 ? rules.can_group() && rules.holds_groups() : rules.holds_whole_tiles()))
      return;
    if (std::find(found_.begin(), found_.end(), schedule_) == found_.end()) found_.push_back(schedule_);
  }

  const PoolNest& nest_;
  const Isa isa_;
  const size_t most_;
  const ReductionFacts& facts_;
  const NestDim& dim_;  // along the row
  const int fitting_;
  RowChoice cut_;
  Schedule schedule_{.family = Family::channels_first};
  std::vector<Schedule> found_;
};

std::vector<Schedule> enumerate_channels_first(const PoolNest& nest, Isa isa, int working_bytes,
                                               size_t most) {
  if (!RowRules::columns_adjacent(nest) || are_windows_far_apart(nest, isa)) return {};
  const auto facts = reduction_facts(nest, isa, lane_use);
  return Enumeration(nest, isa, working_bytes, most, *facts).run();
}

Result<Program> lower_channels_first(const PoolNest& nest, const Schedule& schedule, Isa isa) {
  Builder builder(print(schedule), isa);
  auto reducer = make_reducer(nest, builder, lane_use);
  if (!reducer) return tl::unexpected(reducer.error());
  if (!RowRules::columns_adjacent(nest))
    return unsupported("schedule.strides", "channels_first needs columns that lie next to each other",
                       "use channels_last(lanes=1)");
  const RowRules rules(nest, schedule, isa, (*reducer)->facts());
  if (!rules.is_short())
    return unsupported("schedule.code_size", "the windows of a row differ too much for straight-line code",
                       "use channels_last(lanes=1)");
  if (schedule.order == Order::rolling && !rules.can_roll())
    return unsupported(
        "schedule.order",
        "rolling needs dense windows that overlap along the rows, no indices or zeros=first, and "
        "registers for what neighbouring windows share",
        "use order=rows_first or row_major");
  const bool is_grouped =
      schedule.unroll > 1 && schedule.order == Order::rows_first && rules.can_group() && rules.holds_groups();
  if (schedule.order == Order::rows_first) {
    if (!(*reducer)->facts().any_order)
      return unsupported("schedule.order", "indices and zeros=first need the taps in row-major order",
                         "use order=row_major");
    if (!is_grouped && !rules.holds_whole_tiles())
      return unsupported("schedule.registers",
                         "rows_first would hold more vectors at once than the registers allow",
                         "use order=row_major or fewer lanes");
  }
  if (schedule.unroll > 1 && !is_grouped && schedule.order != Order::rolling)
    return unsupported(
        "schedule.unroll",
        "rows of outputs are done together rows_first, where dense windows have rows in common and "
        "the registers hold them",
        "use unroll=1");
  if (schedule.tail == Tail::overlap && rules.overlappable() < rules.tile_lanes())
    return unsupported("schedule.tail",
                       "an overlapping tail needs at least as many outputs in a row as lanes of a tile",
                       "use tail=mask or tail=split");
  RowCode(nest, schedule, rules, builder, **reducer).emit();
  return builder.finish();
}

}  // namespace

const FamilyInfo channels_first_family = {Family::channels_first, "channels_first", lane_use,
                                          enumerate_channels_first, lower_channels_first};

}  // namespace pooljit::ir
