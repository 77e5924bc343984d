// whole_planes: small planes, whose rows do not fill a vector, and where the set-up of a row costs more
// than its outputs. A vector holds neighbouring outputs of a plane, across the ends of rows
// (ir/schedules/families/whole_planes_tiles.h), and the code of a plane has no loops. Windows are reduced
// along their columns first, on contiguous vectors, to lines; the taps of lines are then shuffled into
// place. (Loading each tap of a line, masked at the ends of rows, was 1.3 to 2 times as slow.)
#include <algorithm>

#include "ir/schedule_text.h"
#include "ir/schedules/families/whole_planes_code.h"
#include "ir/schedules/family.h"
#include "ir/schedules/windows/stretch.h"

namespace pooljit::ir {
namespace {

constexpr LaneUse whole_planes_lanes = LaneUse::moved;

// In the code of a plane.
constexpr int64_t most_tiles = 64;
constexpr int64_t most_joins = 320;
constexpr int64_t most_taps = 12288;  // of vectors, before they are joined

bool is_dense(const View& view, int64_t columns, bool may_repeat) {
  const bool repeats = may_repeat && view.strides[0] == 0 && view.strides[1] == 0;
  return view.channel_block == 1 && (repeats || (view.strides[0] == columns && view.strides[1] == 1));
}

bool has_dense_planes(const PoolNest& nest) {
  const auto serves = [](const NestDim& dim) {
    if (dim.kind != DimKind::pool) return false;
    if (!has_borders(dim)) return true;
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

// The planes of a group of channels.
std::optional<Staging> staged_planes(const PoolNest& nest) {
  if (nest.dims.size() != 2) return {};
  const auto staging = staged_columns(nest, nest.dims[0].output);
  return staging && staging->columns == nest.dims[1].output ? staging : std::nullopt;
}

Result<void> suits_whole_planes(const Layer& layer) {
  const std::optional<Staging> staging = staged_planes(layer.nest());
  if (!has_dense_planes(staging ? staging->nest : layer.nest()))
    return unsupported("schedule.strides",
                       "whole_planes needs two dimensions of ordinary windows, none of them empty, planes "
                       "without gaps, and no indices",
                       "use channels_first");
  if (!layer.facts(whole_planes_lanes).any_order)
    return unsupported("schedule.scan", "zeros=first needs the taps in row-major order",
                       "use channels_first");
  return {};
}

Result<void> check_whole_planes(const Layer& layer, const Schedule& schedule) {
  if (auto suits = suits_whole_planes(layer); !suits) return suits;
  const PoolNest& nest = layer.nest();
  const NestDim &rows = nest.dims[0], &columns = nest.dims[1];
  const int64_t outputs = rows.output * columns.output;
  if (schedule.tail == Tail::split || (schedule.tail == Tail::overlap && outputs < schedule.lanes) ||
      (!layer.can_mask() && rows.input * columns.input < schedule.lanes))
    return unsupported(
        "schedule.tail",
        "whole_planes masks the last vector, or it overlaps the one before, for which the plane "
        "must be as large as a vector",
        "use tail=mask, tail=overlap or fewer lanes");
  const int64_t tiles = ceil_div(outputs, schedule.lanes);
  const auto too_long = [] {
    return unsupported("schedule.code_size", "the plane is too large for straight-line code",
                       "use channels_first");
  };
  if (tiles > most_tiles || tiles * (rows.kernel + columns.kernel) > most_joins) return too_long();
  const PlaneTiles plan(layer, schedule);
  if (tiles * rows.kernel * plan.most_line_vectors() * layer.facts(whole_planes_lanes).tap_length > most_taps)
    return too_long();
  if (plan.most_line_vectors() >
      PlaneCode::most_kept(nest, plan, layer.facts(whole_planes_lanes), layer.isa()))
    return unsupported("schedule.registers", "a vector of outputs needs more lines than the registers hold",
                       "use fewer lanes");
  return {};
}

Result<Program> lower_whole_planes(const Layer& layer, const Schedule& schedule) {
  if (const auto checked = check_whole_planes(layer, schedule); !checked)
    return tl::unexpected(checked.error());
  const std::optional<Staging> staging = staged_planes(layer.nest());
  const PoolNest& nest = staging ? staging->nest : layer.nest();
  Builder builder(print(schedule), layer.isa());
  const auto reducer = make_reducer(nest, builder, whole_planes_lanes);
  PlaneCode(nest, schedule, PlaneTiles(layer, schedule), builder, **reducer, staging ? &*staging : nullptr)
      .emit();
  return builder.finish();
}

constexpr Tail whole_planes_tails[] = {Tail::mask, Tail::overlap};

}  // namespace

const FamilyInfo whole_planes_family = {Family::whole_planes,
                                        whole_planes_lanes,
                                        whole_planes_tails,
                                        suits_whole_planes,
                                        check_whole_planes,
                                        lower_whole_planes,
                                        nullptr};

}  // namespace pooljit::ir
