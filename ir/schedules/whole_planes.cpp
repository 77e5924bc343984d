// whole_planes: small planes, where rows fill no vector and what begins and ends with each row costs more
// than its outputs. A vector holds neighbouring outputs of a plane whatever row they are of
// (ir/schedules/plane_tiles.h), and the code of a plane has no loops.
// Windows are reduced along their columns first, on contiguous vectors; the taps of the lines that this gives
// are taken by shuffles. (Each tap of a line loaded by itself, masked where rows end, was 1.3 to 2 times as
// slow.)
#include <algorithm>
#include <array>
#include <optional>

#include "ir/schedules/family.h"
#include "ir/schedules/plane_code.h"
#include "ir/schedules/row_rules.h"
#include "ir/schedules/window_rows.h"

namespace pooljit::ir {
namespace {

constexpr LaneUse lane_use = LaneUse::moved;

// In the code of a plane.
constexpr int64_t most_tiles = 64;
constexpr int64_t most_joins = 320;
// Of its own accord: beyond that, code that takes long to make gains little.
constexpr int64_t most_work = 400;
// ... where others take the borders of each row output by output; in vectors as wide as they can be.
constexpr int64_t most_work_for_borders = 800, most_wide_work_for_borders = 1500;
// Beyond that neighbours have so many columns in common that other families, which share them, do less.
constexpr int64_t most_shared_columns = 5;
// Wide elements from so many vectors take as many shuffles as they take joins where they lie.
constexpr int64_t many_strips = 8;

bool is_dense(const View& view, int64_t columns, bool may_repeat) {
  const bool repeats = may_repeat && view.strides[0] == 0 && view.strides[1] == 0;
  return view.channel_block == 1 && (repeats || (view.strides[0] == columns && view.strides[1] == 1));
}

bool has_dense_planes(const PoolNest& nest) {
  const auto serves = [](const NestDim& dim) {
    if (dim.kind != DimKind::pool) return false;
    const std::vector<Run> all = runs(dim);
    return std::all_of(all.begin(), all.end(), [](const Run& run) { return run.window.taps > 0; });
  };
  if (nest.dims.size() != 2 || nest.is_backward() || nest.indices) return false;
  const int64_t outputs = nest.dims[1].output;
  const std::vector<View> operands = operand_views(nest);
  return is_dense(nest.input, nest.dims[1].input, false) && is_dense(nest.output, outputs, false) &&
         std::all_of(operands.begin(), operands.end(),
                     [&](const View& operand) { return is_dense(operand, outputs, true); }) &&
         serves(nest.dims[0]) && serves(nest.dims[1]);
}

// What stands against the schedule.
std::optional<Error> refusal(const PoolNest& nest, const Schedule& schedule, Isa isa,
                             const ReductionFacts& facts) {
  const NestDim &rows = nest.dims[0], &columns = nest.dims[1];
  const int64_t outputs = rows.output * columns.output;
  if (!facts.any_order)
    return unsupported("schedule.order", "zeros=first needs the taps in row-major order",
                       "use channels_first")
        .value();
  if (schedule.unroll != 1 || schedule.taps != Taps::unroll || schedule.order != Order::rows_first)
    return unsupported("schedule.unroll", "whole_planes has one vector at a time, rows first, without loops",
                       "use unroll=1, taps=unroll, order=rows_first")
        .value();
  if (schedule.tail == Tail::split || (schedule.tail == Tail::overlap && outputs < schedule.lanes) ||
      (!can_mask(nest, isa) && rows.input * columns.input < schedule.lanes))
    return unsupported(
               "schedule.tail",
               "whole_planes masks the last vector, or it overlaps the one before, for which the plane "
               "must be as large as a vector",
               "use tail=mask, tail=overlap or fewer lanes")
        .value();
  const int64_t tiles = (outputs + schedule.lanes - 1) / schedule.lanes;
  if (tiles > most_tiles || tiles * (rows.kernel + columns.kernel) > most_joins)
    return unsupported("schedule.code_size", "the plane is too large for straight-line code",
                       "use channels_first")
        .value();
  return std::nullopt;
}

bool holds(const PoolNest& nest, const PlaneTiles& tiles, const ReductionFacts& facts, Isa isa) {
  return tiles.most_strips() <= PlaneCode::most_kept(nest, tiles, facts, isa);
}

// Found by measuring planes of 13 to 112 columns. Where windows have a stride, a row that is one strip takes
// the fewest shuffles, and bytes that are left over cost less than lanes that stay idle. AVX2 puts bytes
// together from a register of 16, which two strips fill.
int best_lanes(const PoolNest& nest, Isa isa, int working_bytes) {
  const NestDim& columns = nest.dims[1];
  const int fitting = fitting_lanes(nest.dims[0].output * columns.output, isa, working_bytes);
  if (columns.stride == 1) return fitting;
  const bool are_bytes = working_bytes == 1;
  const int64_t row = columns.input - (are_bytes ? columns.input / 16 : 0);
  const int lanes = std::min(fitting, fitting_lanes(row, isa, working_bytes));
  return are_bytes && isa == Isa::avx2 ? std::min(lanes, 8) : lanes;
}

// Whether another family does less for what neighbouring windows have in common.
bool is_served_better(const PoolNest& nest, Isa isa, int working_bytes, const ReductionFacts& facts,
                      int lanes, bool spares_borders) {
  const NestDim& columns = nest.dims[1];
  const bool maxima = facts.is_idempotent;
  if (columns.stride > 1) return false;
  if (has_few_registers(isa) && maxima && is_float(nest.input.dtype) &&
      best_side_by_side(nest, isa, facts, lanes) > 1)
    return true;
  if (shares_filled_rows(nest, isa, facts)) return true;
  // Rows of bytes that fill vectors are better off with row_passes.
  if (spares_borders)
    return maxima && working_bytes == 1 && columns.kernel >= 5 && columns.output >= info(isa).vector_bytes;
  // Sums in rows of one vector: what they share costs more shuffles than it spares.
  const bool few = has_few_registers(isa) && !maxima && columns.kernel >= 7 && columns.output <= lanes;
  return columns.kernel > most_shared_columns && !few;
}

std::vector<Schedule> enumerate_whole_planes(const PoolNest& nest, Isa isa, int working_bytes, size_t most) {
  std::vector<Schedule> found;
  if (!has_dense_planes(nest) || are_windows_far_apart(nest, isa)) return found;
  const auto facts = reduction_facts(nest, isa, lane_use);
  const NestDim& columns = nest.dims[1];
  Schedule schedule{.family = Family::whole_planes, .order = Order::rows_first};
  const bool masks = can_mask(nest, isa);
  const bool spares_borders = !masks && interior(columns).end - interior(columns).begin < columns.output;
  const int fitting = fitting_lanes(nest.dims[0].output * columns.output, isa, working_bytes);
  schedule.lanes = best_lanes(nest, isa, working_bytes);
  if (is_served_better(nest, isa, working_bytes, *facts, schedule.lanes, spares_borders)) return found;
  // Whole vectors are stored faster than masked ones, but then tiles do not end where rows do, which costs
  // shuffles of more vectors.
  std::array tails = {Tail::mask, Tail::overlap};
  if (working_bytes >= 4 && nest.dims[0].stride == 1) std::swap(tails[0], tails[1]);
  std::vector<int> widths = {schedule.lanes};
  const bool are_few_bytes = !masks && working_bytes == 1 && columns.kernel >= 3;
  if ((spares_borders || are_few_bytes) && fitting > schedule.lanes) widths.push_back(fitting);
  for (const int lanes : widths)
    for (const Tail tail : tails) {
      if (found.size() >= most || (tail == Tail::mask && !masks)) continue;
      schedule.lanes = lanes;
      schedule.tail = tail;
      if (refusal(nest, schedule, isa, *facts)) continue;
      const PlaneTiles tiles(nest, schedule);
      const bool is_wide = lanes == fitting && nest.input.dtype != DType::i16;
      const int64_t most_for_borders = is_wide ? most_wide_work_for_borders : most_work_for_borders;
      if (tiles.work() > (spares_borders ? most_for_borders : most_work)) continue;
      if (bytes(nest.input.dtype) >= 4 && tiles.most_strips() >= many_strips) continue;
      if (holds(nest, tiles, *facts, isa)) found.push_back(schedule);
    }
  return found;
}

Result<Program> lower_whole_planes(const PoolNest& nest, const Schedule& schedule, Isa isa) {
  if (!has_dense_planes(nest))
    return unsupported("schedule.strides",
                       "whole_planes needs two dimensions of ordinary windows, none of them empty, planes "
                       "without gaps, and no indices",
                       "use channels_first");
  Builder builder(print(schedule), isa);
  auto reducer = make_reducer(nest, builder, lane_use);
  if (!reducer) return tl::unexpected(reducer.error());
  if (const auto refused = refusal(nest, schedule, isa, (*reducer)->facts())) return tl::unexpected(*refused);
  const PlaneTiles tiles(nest, schedule);
  if (!holds(nest, tiles, (*reducer)->facts(), isa))
    return unsupported("schedule.registers", "a vector of outputs needs more lines than the registers hold",
                       "use fewer lanes");
  PlaneCode(nest, schedule, tiles, builder, **reducer).emit();
  return builder.finish();
}

}  // namespace

const FamilyInfo whole_planes_family = {Family::whole_planes, "whole_planes", lane_use,
                                        enumerate_whole_planes, lower_whole_planes};

}  // namespace pooljit::ir
