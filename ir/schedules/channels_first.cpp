// channels_first: a vector holds neighbouring outputs of one row (the innermost dimension) of one channel.
//
// A row is cut into tiles of `lanes` outputs. Inside the image tiles repeat: one loop, of as many tiles as it
// takes until windows lie alike again (one for ordinary pooling). At the borders and at the end a tile has
// constant masks: lanes outside the image load the identity. Where the ISA cannot mask (tail=split), border
// outputs are done one by one and the rest of the row in smaller and smaller vectors. Lanes that lie apart
// come from contiguous loads and shuffles.
//
// order=rows_first reduces the taps of the outer dimensions first, on the contiguous vectors, and the row's
// once per tile; with unroll=R it does so for R rows of outputs together, which share the input rows that
// they have in common. row_major takes every tap in its place, which indices and `zeros=first` need.
// order=rolling walks down a tile's rows, reduces each row once and lets the windows of neighbouring outputs
// share that.
#include "ir/schedules/family.h"
#include "ir/schedules/row_code.h"

namespace pooljit::ir {
namespace {

// Rows of outputs that may be done together, best first.
constexpr int groups[] = {4, 3, 2, 8};
// Rolling walks down a plane, one vector wide; planes larger than this are walked row by row.
constexpr int64_t rolling_plane_bytes = int64_t{1} << 18;

int64_t plane_bytes(const PoolNest& nest) {
  int64_t elements = 1;
  for (const NestDim& dim : nest.dims) elements *= dim.input;
  return elements * bytes(nest.input.dtype);
}

std::vector<Schedule> enumerate_channels_first(const PoolNest& nest, Isa isa, int working_bytes,
                                               size_t most) {
  if (!RowRules::columns_adjacent(nest)) return {};
  Builder probe("", isa);
  const auto reducer = make_reducer(nest, probe);
  const NestDim& dim = nest.dims.back();
  Schedule schedule{.family = Family::channels_first, .lanes = fitting_lanes(dim.output, isa, working_bytes)};
  std::vector<Schedule> found;
  const auto add_tail = [&](Tail tail) {
    if (found.size() >= most) return;
    schedule.tail = tail;
    const RowRules rules(nest, schedule, isa, **reducer);
    if (!rules.is_short()) return;
    if (schedule.order == Order::rows_first && !rules.holds_whole_tiles()) return;
    if (schedule.unroll > 1 && !(rules.can_group() && rules.holds_groups())) return;
    if (schedule.order == Order::rolling && !rules.can_roll()) return;
    found.push_back(schedule);
  };
  const auto add = [&](Order order) {
    schedule.order = order;
    if (can_mask(nest, isa)) add_tail(Tail::mask);
    if (found.size() < most && dim.output % schedule.lanes != 0 &&
        RowRules(nest, schedule, isa, **reducer).overlappable() >= schedule.lanes)
      add_tail(Tail::overlap);
    add_tail(Tail::split);
  };
  const auto add_groups = [&] {
    for (const int rows : groups) {
      schedule.unroll = rows;
      add(Order::rows_first);
    }
    schedule.unroll = 1;
  };
  if ((*reducer)->any_order()) {
    // Lanes of a strided row are shuffled once per tile rows first, once per row rolling.
    const bool rolls = dim.stride == 1, large = plane_bytes(nest) > rolling_plane_bytes;
    if (rolls && large) add_groups();
    if (rolls) add(Order::rolling);
    add(Order::rows_first);
    if (!rolls || !large) add_groups();
    if (!rolls) add(Order::rolling);
  }
  add(Order::row_major);
  return found;
}

Result<Program> lower_channels_first(const PoolNest& nest, const Schedule& schedule, Isa isa) {
  Builder builder(print(schedule), isa);
  auto reducer = make_reducer(nest, builder);
  if (!reducer) return tl::unexpected(reducer.error());
  if (!RowRules::columns_adjacent(nest))
    return unsupported("schedule.strides", "channels_first needs columns that lie next to each other",
                       "use channels_last(lanes=1)");
  const RowRules rules(nest, schedule, isa, **reducer);
  if (!rules.is_short())
    return unsupported("schedule.code_size", "the windows of a row differ too much for straight-line code",
                       "use channels_last(lanes=1)");
  if (schedule.order == Order::rolling && !rules.can_roll())
    return unsupported(
        "schedule.order",
        "rolling needs dense windows that overlap along the rows, no indices or zeros=first, and "
        "registers for what neighbouring windows share",
        "use order=rows_first or row_major");
  if (schedule.order == Order::rows_first) {
    if (!(*reducer)->any_order())
      return unsupported("schedule.order", "indices and zeros=first need the taps in row-major order",
                         "use order=row_major");
    if (!rules.holds_whole_tiles())
      return unsupported("schedule.registers",
                         "rows_first would hold more vectors at once than the registers allow",
                         "use order=row_major or fewer lanes");
  }
  if (schedule.unroll > 1 &&
      !(schedule.order == Order::rows_first && rules.can_group() && rules.holds_groups()))
    return unsupported(
        "schedule.unroll",
        "rows of outputs are done together rows_first, where dense windows have rows in common and "
        "the registers hold them",
        "use unroll=1");
  if (schedule.tail == Tail::overlap && rules.overlappable() < schedule.lanes)
    return unsupported("schedule.tail",
                       "an overlapping tail needs at least as many outputs in a row as lanes",
                       "use tail=mask or tail=split");
  RowCode(nest, schedule, rules, builder, **reducer).emit();
  return builder.finish();
}

}  // namespace

const FamilyInfo channels_first_family = {Family::channels_first, "channels_first", enumerate_channels_first,
                                          lower_channels_first};

}  // namespace pooljit::ir
