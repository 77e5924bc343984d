#include "ir/schedules/lowering/row_rules.h"

#include <algorithm>

#include "ir/reductions/float_keys.h"
#include "ir/schedules/family.h"
#include "ir/schedules/lanes/channel_blocks.h"
#include "ir/schedules/lanes/lanes_apart.h"
#include "ir/schedules/lowering/lowering.h"
#include "ir/schedules/lowering/size_layout.h"
#include "ir/schedules/windows/rolling_outputs.h"
#include "ir/schedules/windows/shared_rows.h"
#include "ir/schedules/windows/stretch.h"

namespace pooljit::ir {
namespace {

// Of all sizes: tiles that have code of their own. Windows over the ends of a row are masked, or done one by
// one; the latter also where their divisor is not the usual one.
std::vector<TileLoop> tiles_of_any_size(const NestDim& row, const RowSchedule& schedule, bool masks) {
  std::vector<TileLoop> tiles;
  const auto add = [&](int lanes) {
    const int64_t outputs = outputs_of_tile(row, lanes);
    if (outputs > 0) tiles.push_back({{{0, lanes, outputs, false}}, 1, 0, 0});
  };
  add(schedule.lanes);
  if (masks)
    add(schedule.lanes);
  else
    for (int lanes = schedule.lanes / 2; lanes >= 1; lanes /= 2) add(lanes);
  add(1);
  return tiles;
}

}  // namespace

RowSchedule::RowSchedule(const Schedule& schedule)
    : RowFields(*row_fields(schedule)), lanes(schedule.lanes), tail(schedule.tail) {}

RowRules::RowRules(const PoolNest& nest, const RowSchedule& schedule, Isa isa, const ReductionFacts& facts)
    : nest_(nest),
      schedule_(schedule),
      dim_(nest.dims.back()),
      isa_(isa),
      facts_(facts),
      masks_(schedule.tail != Tail::split && can_mask(nest, isa)),
      fills_(schedule.tail == Tail::overlap && can_fill_borders(nest, isa, schedule.lanes)),
      row_(nest.has_any_size() ? tiles_of_any_size(dim_, schedule, schedule.tail == Tail::mask)
                               : cut_row(dim_, {tile_lanes(), uniform(), schedule.tail, masks_ || fills_,
                                                borders_from_table()})) {}

bool RowRules::columns_adjacent(const PoolNest& nest) {
  // A stand-in's only column is not the layer's.
  const bool is_one = nest.dims.back().output == 1 && !nest.has_any_size();
  const auto adjacent = [&](const View& view) { return view.strides.back() == 1 || is_one; };
  return reads_adjacent_columns(nest) && nest.output.channel_block == 1 && adjacent(nest.output) &&
         (!nest.indices || nest.is_backward() || adjacent(*nest.indices));
}

int RowRules::tile_lanes() const { return schedule_.lanes * schedule_.vectors_side_by_side; }

bool RowRules::takes_all_one_by_one() const {
  return nest_.extents == Extents::any && nest_.is_backward() && schedule_.lanes == 1;
}

bool RowRules::is_short() const {
  if (takes_all_one_by_one()) return true;
  const int64_t most_listed = nest_.extents == Extents::any ? unroll_columns : most_gathered;
  return (dim_.kind == DimKind::pool || listed_taps() <= most_listed) &&
         tile_count(row_) <= (nest_.is_backward() ? most_gradient_tiles : most_tiles) &&
         (steps_in_code(false) <= most_steps || steps_in_code(true) <= most_steps);
}

int64_t RowRules::unroll_limit() const {
  constexpr int64_t unroll_rows = 16, unroll_group = 64;  // the latter where a group of rows shares them
  if (schedule_.tap_code == TapCode::loops) return 1;
  return schedule_.rows_together > 1 ? unroll_group : unroll_rows;
}

int64_t RowRules::steps_of_stores(int lanes) const {
  constexpr int64_t instructions_per_step = 4;
  Lanes stored = Lanes::channels(lanes);
  stored.are_columns = true;
  return length_of_stores(nest_, stored) / instructions_per_step;
}

// The steps of a row's code, at most: vectors or taps that it takes, and pieces of neighbouring lanes that it
// moves where the taps of a vector's lanes do not lie next to each other (a shuffle may move several). asks:
// which tiles take whole vectors, which costs time; else none does.
int64_t RowRules::steps_in_code(bool asks) const {
  constexpr int64_t steps_per_piece = 2;
  const int64_t apart = dim_.is_forward() ? dim_.stride / dim_.pixel : INT64_MAX;
  const bool moves = apart != 1 && !is_long();
  const int64_t arrays = view_beside(nest_) ? 2 : 1;
  const int64_t row_major = copies_of_a_row(false), rows_first = copies_of_a_row(true);
  const int64_t taps = is_long() ? 1 : listed_taps();
  const int64_t lane_loads = nest_.input.strides.back() == 1 ? 0 : schedule_.lanes / 2;
  const int64_t outputs = rows_in_code() * codes_for_windows(nest_, nest_.dims.size() - 1);
  int64_t steps = 0;
  for (const TileLoop& loop : row_)
    for (const Tile& tile : loop.tiles) {
      const bool reduced = asks && takes_vectors(tile);
      const int64_t pieces = std::min<int64_t>(apart, ceil_div(tile.lanes, dim_.pixel));
      if (moves) steps += pieces * taps * (reduced ? rows_first : row_major) * arrays * steps_per_piece;
      steps += (reduced ? vectors_of(tile) : taps) * row_major * (facts_.tap_length + lane_loads);
      steps += outputs * (facts_.output_length + steps_of_stores(tile.lanes));
    }
  return steps;
}

// True if a tile's vectors are loaded whole, and its taps taken from what the rows outside made of them.
bool RowRules::takes_vectors(const Tile& tile) const {
  if (schedule_.scan == RowSchedule::Scan::rolling) return rolls_by_keys(tile);
  return schedule_.scan == RowSchedule::Scan::rows_first && holds(tile);
}

int64_t RowRules::vectors_of(const Tile& tile) const {
  return taps(tile).lists.empty() ? 0 : std::ssize(reduction(tile).starts());
}

bool RowRules::rolls_down() const {
  return nest_.dims.size() > 1 && schedule_.scan == RowSchedule::Scan::rolling &&
         RollingOutputs::can_serve(rolled());
}

// The rows after the last whole group have code of their own.
bool RowRules::leaves_rows() const {
  return nest_.dims.size() > 1 && rolled().output % schedule_.rows_together != 0;
}

int64_t RowRules::rows_in_code() const {
  if (rolls_down()) return RollingOutputs::loads_in_code(rolled());
  return schedule_.rows_together + leaves_rows();
}

// How often the code has the taps of a row. rows_first: they are taken once the rows are reduced.
int64_t RowRules::copies_of_a_row(bool rows_first) const {
  if (nest_.dims.size() == 1) return 1;
  const size_t outer = nest_.dims.size() - 1 - rolls_down();
  const int64_t taps =
      rows_first ? codes_for_windows(nest_, outer) : taps_in_code(nest_, facts_, outer, unroll_limit());
  const int64_t one_by_one = taps * rows_in_code();
  return rows_first ? one_by_one : std::max(one_by_one, taps_of_a_group());
}

// Taps in the code of shared_rows(): rows that all windows share once, the others twice each; and the rows
// after the last whole group.
int64_t RowRules::taps_of_a_group() const {
  if (schedule_.rows_together == 1 || !can_group(nest_, facts_, schedule_.rows_together)) return 0;
  const NestDim& down = rolled();
  const int64_t others = schedule_.rows_together - 1;
  const auto taps = [&](std::optional<int64_t> rows) {
    return taps_in_code(nest_, facts_, nest_.dims.size() - 1, unroll_limit(), rows);
  };
  return taps(down.kernel - others * down.stride) + 2 * others * taps(down.stride) +
         (leaves_rows() ? taps(std::nullopt) : 0);
}

bool RowRules::borders_from_table() const {
  if (dim_.kind != DimKind::pool) return false;
  const bool are_long = dim_.kernel > static_border || has_many_borders(dim_);
  return dim_.kernel > unroll_columns || (!masks_ && !fills_ && are_long);
}

bool RowRules::has_many_borders(const NestDim& row) {
  constexpr int64_t many = 32;
  const Interior inside = interior(row);
  return row.output - (inside.end - inside.begin) > many;
}

bool RowRules::suits_any_size() const {
  const bool is_shared = schedule_.rows_together > 1 || schedule_.vectors_side_by_side > 1;
  const bool masks_indices = schedule_.tail == Tail::mask && nest_.indices && !nest_.is_backward();
  // The remainder of a row of whole pixels is more than one output.
  const bool leaves_pixels = dim_.kind == DimKind::pixels &&
                             (schedule_.tail != Tail::mask || outputs_of_tile(dim_, schedule_.lanes) == 0 ||
                              (nest_.divides_by_taps() && !counts_lanes(nest_)));
  // A gradient's stand-in may have one column, which is not the layer's.
  const bool reads_columns = nest_.input.strides.back() == 1 &&
                             (!nest_.is_backward() || !nest_.indices || nest_.indices->strides.back() == 1);
  // Divisors of gradients at the ends of rows differ from lane to lane.
  const bool masks_divisors = schedule_.tail == Tail::mask && counts_gathered(nest_);
  // Operands of part of a vector.
  const bool leaves_operands = nest_.is_norm_gradient() && !can_mask(nest_, isa_) &&
                               outputs_of_tile(dim_, schedule_.lanes) < schedule_.lanes;
  // Outputs that lie apart are stored one by one, and not masked.
  const bool are_stored =
      columns_adjacent(nest_) || (schedule_.tail == Tail::overlap && reads_adjacent_columns(nest_));
  // The taps of long rows are in loops, which mask nothing.
  const bool loops_alone = schedule_.tail == Tail::overlap && schedule_.scan == RowSchedule::Scan::tap_by_tap;
  return nest_.extents == Extents::any && schedule_.tail != Tail::split && are_stored &&
         (!is_long() || loops_alone) && !is_shared && !masks_indices && !leaves_pixels && !leaves_operands &&
         !masks_divisors && reads_columns &&
         (takes_all_one_by_one() || places_of_tile(dim_, schedule_.lanes) > 0);
}

size_t RowRules::spare_vectors(size_t vectors) const {
  const bool rolls = schedule_.scan == RowSchedule::Scan::rolling;
  const size_t needed = rolls ? rolling_vectors() + vectors + 5 : 2 * vectors + 5;
  const auto all = static_cast<size_t>(registers());
  return needed < all ? all - needed : 0;
}

int64_t RowRules::overlappable() const {
  if (nest_.has_any_size()) return schedule_.lanes;
  const Interior inside = uniform();
  const bool are_all = (can_mask(nest_, isa_) && dim_.most_taps() <= unroll_columns) ||
                       can_fill_borders(nest_, isa_, schedule_.lanes);
  return are_all ? dim_.output : inside.end - inside.begin;
}

// The outputs of a row with whole windows whose taps, backward of an average, all have the usual divisor.
Interior RowRules::uniform() const {
  Interior inside = interior(dim_);
  if (!nest_.is_backward() || !nest_.divides_by_taps()) return inside;
  const NestDim forward = forward_of(dim_);
  const Interior usual = usual_outputs(nest_, forward);
  const auto is_uniform = [&](int64_t output) {
    const Window window = dim_.window(output);
    const int64_t last = window.first + (window.taps - 1) * window.step;
    return window.taps == 0 || (window.first >= usual.begin && last < usual.end);
  };
  // Between the last position of the windows before the usual ones and the first of those behind them, those
  // outside the image too. Beyond, outputs without taps lie among others: it ends with the first that is not
  // uniform.
  const auto positions = [&](int64_t window) {
    if (forward.kind == DimKind::adaptive) {
      const Window taps = forward.window(window);
      return Interior{taps.first, taps.first + (taps.taps - 1) * taps.step + 1};
    }
    const int64_t first = window * dim_.stride - dim_.pad_begin;
    return Interior{first, first + dim_.dilation * (dim_.kernel - 1) + 1};
  };
  Interior within = inside;
  if (usual.begin > 0) within.begin = positions(usual.begin - 1).end;
  if (usual.end < forward.output) within.end = positions(usual.end).begin;
  within.begin = std::clamp(within.begin, inside.begin, inside.end);
  within.end = std::clamp(within.end, within.begin, inside.end);
  while (within.begin > inside.begin && is_uniform(within.begin - 1)) --within.begin;
  while (within.end < inside.end && is_uniform(within.end)) ++within.end;
  return within;
}

int RowRules::registers() const { return info(isa_).vector_registers - extra_registers(nest_, facts_); }

int64_t RowRules::listed_taps() const {
  return dim_.kind == DimKind::gather ? dim_.unclipped_taps() : dim_.most_taps();
}

// Vectors of a row that may be held at once. A sum holds each twice (a part and the whole), indices take most
// of the rest.
size_t RowRules::most_vectors() const {
  return static_cast<size_t>(nest_.indices ? registers() / 4 : registers() * 3 / 8);
}

// True if straight-line code may take the taps of a row one by one.
bool RowRules::has_short_rows() const {
  return listed_taps() <= unroll_columns && dim_.period().input <= unroll_columns * dim_.pixel;
}

// Lanes that are not stored take no vectors of their own.
void RowRules::drop_beyond(TileTaps& taps, const Tile& tile) {
  const int64_t end = ceil_div(taps.end, tile.lanes) * tile.lanes;
  for (PlacedLanes::List& list : taps.lists)
    for (size_t lane = static_cast<size_t>(tile.valid); lane < list.size(); ++lane)
      if (list[lane] >= end) list[lane] = PlacedLanes::anything;
}

RowRules::TilePlan& RowRules::plan(const Tile& tile) const {
  const auto known = std::ranges::find(plans_, tile, &TilePlan::tile);
  if (known != plans_.end()) return *known;
  NestDim row = dim_;
  if (nest_.has_any_size()) row.output = tile.lanes;  // a stand-in's row may be shorter
  if (nest_.has_any_size() && row.kind == DimKind::gather) row = one_period(row);
  plans_.push_back({tile, tile_taps(row, tile, is_long() ? 1 : INT64_MAX), std::nullopt});
  if (nest_.has_any_size()) drop_beyond(plans_.back().taps, tile);
  return plans_.back();
}

const RowReduction& RowRules::reduction(const Tile& tile) const {
  TilePlan& known = plan(tile);
  if (!known.reduction)
    known.reduction.emplace(dim_, tile, schedule_.lanes, known.taps, facts_, isa_, masks_);
  return *known.reduction;
}

bool RowRules::holds(const Tile& tile) const {
  return has_short_rows() && (taps(tile).lists.empty() || reduction(tile).starts().size() <= most_vectors());
}

bool RowRules::holds_as_loaded(const Tile& tile) const {
  if (!has_short_rows() || tile.lanes == 1) return false;
  const PlacedLanes plan(taps(tile).lists, shuffle_style(bytes(nest_.input.dtype)));
  return plan.starts().size() <= most_vectors();
}

// True for all tiles of as many lanes as the schedule says; others may fall back.
bool RowRules::whole_tiles(Holds holds) const {
  for (const TileLoop& loop : row_)
    for (const Tile& tile : loop.tiles)
      if (tile.lanes == schedule_.lanes && !(has_short_rows() && (this->*holds)(tile))) return false;
  return true;
}

bool RowRules::holds_whole_tiles() const { return whole_tiles(&RowRules::holds); }
bool RowRules::holds_groups() const { return whole_tiles(&RowRules::holds_group); }

bool RowRules::may_share_rows(const PoolNest& nest, const ReductionFacts& facts) {
  return nest.dims.size() > 1 && !nest.is_backward() && facts.any_order;
}

bool RowRules::can_roll() const {
  if (!may_share_rows(nest_, facts_) || dim_.kind != DimKind::pool || borders_from_table() ||
      !RollingOutputs::can_serve(rolled()))
    return false;
  if (schedule_.vectors_side_by_side > 1) return rolls_side_by_side();
  const size_t row_vectors = dim_.stride == 1 ? 1 : most_vectors();
  return rolling_vectors() + row_vectors + 5 <= static_cast<size_t>(registers());
}

bool RowRules::rolls_side_by_side() const {
  bool is_wide = false;
  for (const TileLoop& loop : row_)
    for (const Tile& tile : loop.tiles) {
      if (!rolls_by_keys(tile)) return false;
      is_wide = is_wide || tile.valid > schedule_.lanes;
    }
  return is_wide;
}

size_t RowRules::rolling_vectors() const {
  return RollingOutputs::needs(rolled(), facts_.is_idempotent).vectors;
}

bool RowRules::rolls_by_keys(const Tile& tile) const {
  // Bytes move in more steps.
  const int64_t least = least_keyed_kernel + (facts_.working_bytes == 1 ? 2 : 0);
  const bool share_rows = rolled().kernel > rolled().stride;
  if (dim_.kernel < least || taps(tile).lists.empty() || !has_short_rows() || !share_rows) return false;
  const RowReduction& plan = reduction(tile);
  return plan.slides() && (rolls_at_once(tile, plan) || rolls_by_scratch(tile, plan));
}

// Vectors side by side hold each its own; what else they need, they need one after the other.
bool RowRules::rolls_at_once(const Tile& tile, const RowReduction& plan) const {
  const auto beside = static_cast<size_t>((tile.valid - 1) / schedule_.lanes);
  const size_t held = beside * RollingOutputs::needs(rolled(), facts_.is_idempotent).held;
  return rolling_vectors() + held + 2 * plan.starts().size() + 5 <= static_cast<size_t>(registers());
}

bool RowRules::rolls_in_registers() const {
  return rolling_vectors() + 5 <= static_cast<size_t>(registers());
}

bool RowRules::rolls_by_scratch(const Tile& tile, const RowReduction& plan) const {
  const NestDim& down = rolled();
  const int64_t vectors = ceil_div(tile.valid, schedule_.lanes);
  if (schedule_.vectors_side_by_side == 1 || (!rolls_in_registers() && down.stride > 1)) return false;
  // Of the image, or of all windows and of the ends of a block of them.
  const int64_t rows = rolls_in_registers() ? down.visible_input() : down.output + 2 * down.kernel;
  return rows * vectors * schedule_.lanes * facts_.working_bytes <= most_scratch_bytes &&
         2 * plan.starts().size() + 5 <= static_cast<size_t>(registers());
}

bool RowRules::can_group(const PoolNest& nest, const ReductionFacts& facts, int rows_together) {
  return may_share_rows(nest, facts) && !is_long(nest.dims.back()) &&
         can_share_rows(nest.dims[nest.dims.size() - 2], rows_together);
}

bool RowRules::holds_group(const Tile& tile) const {
  if (!holds(tile) || taps(tile).lists.empty()) return false;
  const size_t vectors = reduction(tile).starts().size() * static_cast<size_t>(schedule_.rows_together);
  return vectors + 7 <= static_cast<size_t>(registers());
}

bool can_fill_borders(const PoolNest& nest, Isa isa, int lanes) {
  const NestDim& row = nest.dims.back();
  return has_borders(row) && !can_mask(nest, isa) && row.kind == DimKind::pool &&
         row.kernel <= RowRules::unroll_columns && row.visible_input() >= lanes;
}

}  // namespace pooljit::ir
