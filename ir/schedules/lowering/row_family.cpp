#include "ir/schedules/lowering/row_family.h"

#include <algorithm>

#include "ir/schedule_text.h"
#include "ir/schedules/lanes/lanes_apart.h"
#include "ir/schedules/lowering/row_code.h"

namespace pooljit::ir {
namespace {

Result<void> no_rolling() {
  return unsupported(
      "schedule.scan",
      "rolling needs dense windows that overlap along the rows, no indices or zeros=first, and "
      "registers for what neighbouring windows share",
      "use scan=rows_first or tap_by_tap");
}

Result<void> no_rows_together() {
  return unsupported("schedule.together",
                     "rows of outputs are done together rows_first, where dense windows have rows in common "
                     "and the registers hold them",
                     "use rows_together=1");
}

// Gradients of windows that follow the extents, in code for all sizes.
Result<void> check_following(const Layer& layer, const RowSchedule& schedule) {
  const bool masks =
      schedule.tail == Tail::mask && layer.can_mask() && RowRules::columns_adjacent(layer.nest());
  if (schedule.scan == RowSchedule::Scan::tap_by_tap && (masks || schedule.tail == Tail::overlap) &&
      schedule.rows_together == 1 && schedule.vectors_side_by_side == 1 &&
      reads_adjacent_columns(layer.nest()) && layer.nest().input.strides.back() == 1)
    return {};
  return unsupported(
      "schedule.sizes",
      "code for all sizes takes gradients of windows that follow the size tap by tap, row by row",
      "use scan=tap_by_tap, rows_together=1, tail=overlap");
}

// The checks that do not need the row's tiles.
Result<void> check_layer(const Layer& layer, const RowSchedule& schedule) {
  if (auto suits = suits_rows(layer); !suits) return suits;
  const ReductionFacts& facts = layer.facts(row_lanes);
  if (schedule.scan == RowSchedule::Scan::rolling && !RowRules::may_share_rows(layer.nest(), facts))
    return no_rolling();
  if (schedule.scan == RowSchedule::Scan::rows_first && !facts.any_order)
    return unsupported("schedule.scan", "indices and zeros=first need the taps in row-major order",
                       "use scan=tap_by_tap");
  if (schedule.rows_together > 1 && (schedule.scan != RowSchedule::Scan::rows_first ||
                                     !RowRules::can_group(layer.nest(), facts, schedule.rows_together)))
    return no_rows_together();
  return {};
}

// Not where a schedule rolls down the rows of one channel, nor if rows that are cut have borders from a
// table.
std::optional<Staging> staging_of(const Layer& layer, const RowSchedule& schedule) {
  const NestDim& row = layer.nest().dims.back();
  if (schedule.scan == RowSchedule::Scan::rolling) return {};
  std::optional<Staging> staging = staged_columns(layer.nest(), schedule.rows_together);
  if (!staging || staging->columns == row.output) return staging;
  const RowRules rules(staging->nest, schedule, layer.isa(), layer.facts(row_lanes));
  const std::vector<RowPiece> pieces = pieces_of(rules.row(), staging->columns);
  const bool fit =
      std::ranges::all_of(pieces, [&](const RowPiece& piece) { return piece.columns <= staging->columns; });
  return fit && !(rules.borders_from_table() && has_borders(row)) ? staging : std::nullopt;
}

Result<void> check_row(const Layer& layer, const RowSchedule& schedule, const RowRules& rules) {
  const PoolNest& nest = layer.nest();
  if (nest.extents == Extents::any_windows && nest.is_backward()) return check_following(layer, schedule);
  if (nest.has_any_size() && !rules.suits_any_size())
    return unsupported(
        "schedule.sizes",
        "code for all sizes has rows of neighbouring outputs one by one, of up to 32 columns a "
        "window, no tail=split, with indices no tail=mask, and of pixels that windows move by several of "
        "only tail=mask, with no divisors of narrow elements that differ",
        "use scan=rows_first or tap_by_tap, rows_together=1, tail=overlap");
  if (!rules.is_short())
    return unsupported("schedule.code_size", "the windows of a row differ too much for straight-line code",
                       "use channels_last(lanes=1)");
  if (schedule.scan == RowSchedule::Scan::rolling && !rules.can_roll()) return no_rolling();
  const bool is_grouped = schedule.rows_together > 1 && rules.holds_groups();
  if (schedule.scan == RowSchedule::Scan::rows_first && !is_grouped && !rules.holds_whole_tiles())
    return unsupported("schedule.registers",
                       "rows_first would hold more vectors at once than the registers allow",
                       "use scan=tap_by_tap or fewer lanes");
  if (schedule.rows_together > 1 && !is_grouped) return no_rows_together();
  if (schedule.tail == Tail::overlap && rules.overlappable() < rules.tile_lanes())
    return unsupported("schedule.tail",
                       "an overlapping tail needs at least as many outputs in a row as lanes of a tile",
                       "use tail=mask or tail=split");
  return {};
}

}  // namespace

Result<void> suits_rows(const Layer& layer) {
  if (has_vector_columns(layer.nest())) return {};
  return unsupported("schedule.strides",
                     "channels_first needs columns of the input that lie next to each other, or channels "
                     "that do not",
                     "use channels_last(lanes=1)");
}

Result<void> check_rows(const Layer& layer, const Schedule& given) {
  const RowSchedule schedule(given);
  if (auto checked = check_layer(layer, schedule); !checked) return checked;
  const std::optional<Staging> staging = staging_of(layer, schedule);
  const PoolNest& nest = staging ? staging->nest : layer.nest();
  return check_row(layer, schedule, RowRules(nest, schedule, layer.isa(), layer.facts(row_lanes)));
}

Result<Program> lower_rows(const Layer& layer, const Schedule& given) {
  const RowSchedule schedule(given);
  if (const auto checked = check_layer(layer, schedule); !checked) return tl::unexpected(checked.error());
  const std::optional<Staging> staging = staging_of(layer, schedule);
  const PoolNest& nest = staging ? staging->nest : layer.nest();
  const RowRules rules(nest, schedule, layer.isa(), layer.facts(row_lanes));
  if (const auto checked = check_row(layer, schedule, rules); !checked)
    return tl::unexpected(checked.error());
  Builder builder(print(given), layer.isa());
  const auto reducer = make_reducer(nest, builder, row_lanes);
  RowCode(nest, schedule, rules, builder, **reducer, staging ? &*staging : nullptr).emit();
  return builder.finish();
}

}  // namespace pooljit::ir
