#include "ir/schedules/lowering/row_code.h"

#include <algorithm>

#include "ir/schedules/lowering/tile_lanes.h"
#include "ir/schedules/windows/rolling_outputs.h"
#include "ir/schedules/windows/running_window.h"
#include "ir/schedules/windows/stretch.h"

namespace pooljit::ir {

namespace {

std::vector<int64_t> no_offsets(const Tile& tile) {
  return std::vector<int64_t>(static_cast<size_t>(tile.lanes), 0);
}

Grouped grouped_rows(const PoolNest& nest, const RowSchedule& schedule) {
  if (schedule.rows_together == 1) return {};
  return {nest.dims.size() - 2, schedule.rows_together};
}

}  // namespace

RowCode::RowCode(const PoolNest& nest, const RowSchedule& schedule, const RowRules& rules, Builder& builder,
                 Reducer& reducer, const Staging* staging)
    : nest_(nest),
      schedule_(schedule),
      rules_(rules),
      dim_(nest.dims.back()),
      outer_(nest.dims.size() - 1),
      b_(builder),
      reducer_(reducer),
      low_(nest, builder, reducer, grouped_rows(nest, schedule), staging),
      loads_(nest, builder, reducer.facts(), low_),
      backward_(nest.is_backward()),
      staging_(staging) {}

void RowCode::emit() {
  if (nest_.has_any_size()) return emit_any_size();
  const auto row = [&](const Cursor& cursor, bool group) {
    staging_ ? stage_row(cursor, group) : emit_row(cursor, group);
  };
  if (schedule_.scan == RowSchedule::Scan::rolling)
    low_.for_each_row(rows(), row);
  else
    low_.for_each_row(outer_, row, [&](const Cursor& cursor) { emit_gap(cursor); });
  b_.ret();
}

void RowCode::emit_loops(const Cursor& cursor, const std::vector<TileLoop>& loops, bool group) {
  for (const TileLoop& tiles : loops) emit_tiles(cursor, tiles, group);
}

void RowCode::emit_row(const Cursor& cursor, bool group) {
  emit_loops(cursor, rules_.row(), group);
  if (!rules_.borders_from_table() || !has_borders(dim_)) return;
  if (!group) return emit_borders(cursor);
  for (int64_t row = 0; row < schedule_.rows_together; ++row) emit_borders(low_.further(cursor, rows(), row));
}

// Border outputs one by one, with the taps that the run table tells.
void RowCode::emit_borders(Cursor cursor) {
  int loops = low_.open_runs(cursor, /*task=*/false, Lowering::Runs::borders);
  loops += low_.open_outputs(cursor);
  reducer_.plan(1, nest_.full_taps());
  const Lowering::States fresh = {reducer_.start({0})};
  const auto leaf = [&](const Lowering::States& states, const TapAt& tap) {
    const Value x = b_.load(Type::vec(nest_.input.dtype, 1), tap.input);
    return Lowering::States{reducer_.accumulate(states[0], x, tap.offset)};
  };
  low_.store(cursor, low_.reduce(cursor, outer_ + 1, fresh, leaf, rules_.unroll_limit())[0],
             Lanes::channels(1));
  low_.close(loops);
}

// -------------------------------------------------------------------------------------------------- one tile

void RowCode::emit_tiles(const Cursor& cursor, const TileLoop& tiles, bool in_group) {
  if (in_group) {
    const int64_t slid = slide(cursor, tiles);
    if (slid > 0) return emit_tiles(cursor, behind(tiles, slid), in_group);
  }
  if (tiles.count == 0) return;
  const Value iv = tiles.count > 1 ? b_.begin_loop(b_.iconst(tiles.count)).iv : no_value;
  for (const Tile& tile : tiles.tiles) {
    const TileTaps& taps = rules_.taps(tile);
    const Cursor here = at_tile(cursor, tiles, tile, taps, iv);
    tap_plans_.reset();
    if (schedule_.scan == RowSchedule::Scan::rolling) {
      roll(here, tile, taps, vectors_of(tile));
      continue;
    }
    const Lanes lanes = stored_lanes(tile, taps, iv, tiles);
    own_ = low_.chooses() ? low_.own_index(here, lanes) : no_value;
    if (in_group)
      group(here, tile, taps, lanes);
    else
      low_.store(here, reduce_tile(here, tile, taps), lanes);
  }
  if (iv != no_value) low_.close(1);
}

Cursor RowCode::at_tile(const Cursor& cursor, const TileLoop& tiles, const Tile& tile, const TileTaps& taps,
                        Value iv) const {
  Cursor at = cursor;
  const auto move = [&](Address& address, const View& view, int64_t stride, int64_t first, int64_t step) {
    address = plus(address, byte_stride(view, first * stride));
    if (iv != no_value) address = plus(address, iv, byte_stride(view, step * stride));
  };
  move(at.input, nest_.input, loads_.column_stride(nest_.input), taps.origin, tiles.inputs);
  low_.for_each_output(at, [&](Address& address, const View& view) {
    move(address, view, view.strides.back(), tile.begin, tiles.outputs);
  });
  if (const auto& beside = low_.beside())
    move(at.beside, *beside, loads_.column_stride(*beside), taps.origin, tiles.inputs);
  return at;
}

void RowCode::roll(const Cursor& cursor, const Tile& tile, const TileTaps& taps,
                   const std::vector<Lanes>& vectors) {
  const auto rows_of = [&](const Rolling& how, const LoadRow& load) {
    if (nest_.has_any_size()) return roll_down(cursor, vectors[0], how, load);
    const auto load_row = [&](const Position& row) { return load(low_.at_input(cursor, rows(), row)); };
    if (rules_.rolls_by_keys(tile) && !rules_.rolls_at_once(tile, rules_.reduction(tile)))
      return roll_by_scratch(cursor, vectors, how, load_row);
    roll_rows(cursor, vectors, how, load_row);
  };
  reducer_.plan(1, nest_.full_taps() / nest_.dims[rows()].most_taps());
  const State none = reducer_.start(std::vector<int64_t>(static_cast<size_t>(vectors[0].count), 0));
  if (!rules_.rolls_by_keys(tile)) {
    const auto join = [&](Value earlier, Value later) { return reducer_.join_values(earlier, later); };
    return rows_of({reducer_.value(none), join, [](Value x) { return State{x}; }}, [&](const Cursor& at) {
      return Bundle{reducer_.value(reduce_row_major(at, tile, taps, rows()))};
    });
  }
  const RowReduction& plan = rules_.reduction(tile);
  const auto join = [&](Value earlier, Value later) { return reducer_.join_keys(earlier, later); };
  const Rolling how = {reducer_.key(none), join, [&](Value key) { return reducer_.from_key(key); }};
  rows_of(how, [&](const Cursor& at) {
    const std::vector<Value> all = plan.windows(b_, reducer_, reduce_columns(at, tile, taps, plan, rows()));
    return Bundle(all.begin(), all.end());
  });
}

// The vectors that a tile stores.
std::vector<Lanes> RowCode::vectors_of(const Tile& tile) const {
  const int lanes = std::min(tile.lanes, schedule_.lanes);
  std::vector<Lanes> vectors;
  for (int64_t done = 0; done < tile.valid; done += lanes) {
    const int64_t valid = std::min<int64_t>(lanes, tile.valid - done);
    vectors.push_back(column_lanes(nest_, {tile.begin + done, lanes, valid, tile.border}));
  }
  return vectors;
}

void RowCode::move_outputs(Cursor& cursor, int64_t columns) {
  low_.for_each_output(cursor, [&](Address& address, const View& view) {
    address = plus(address, byte_stride(view, columns * view.strides.back()));
  });
}

void RowCode::store_rows(Cursor at, const std::vector<Lanes>& vectors, const Rolling& how,
                         const Bundle& windows) {
  for (size_t i = 0; i < vectors.size(); ++i) {
    low_.store(at, how.state_of(windows[i]), vectors[i]);
    move_outputs(at, vectors[i].count);
  }
}

void RowCode::roll_rows(const Cursor& cursor, const std::vector<Lanes>& vectors, const Rolling& how,
                        const LoadBundle& load) {
  RollingOutputs rolling(nest_.dims[rows()], b_, reducer_.facts(), how.join);
  rolling.divide_alike(nest_);
  const Divisors divisors(nest_, nest_.dims[rows()], rolling.looped(), b_);
  rolling.emit(
      Bundle(vectors.size(), how.nothing), load, [&](const Position& position, const Bundle& windows) {
        store_rows(low_.at_output(cursor, rows(), position, divisors(position)), vectors, how, windows);
      });
}

// Where registers do not hold what windows share. load is asked for the rows of all windows.
void RowCode::run_rows(const Cursor& cursor, const Lanes& vector, const Rolling& how,
                       const LoadBundle& load) {
  const NestDim& down = nest_.dims[rows()];
  const Type type = b_.type(how.nothing);
  if (!ends_) ends_ = b_.add_scratch(down.kernel * type.vector_bytes());
  const Divisors divisors(nest_, down, {0, down.output}, b_);
  const Value outputs = b_.iconst(down.output);
  const Value blocks = b_.iconst(ceil_div(down.output, down.kernel));
  RunningWindow(down.kernel, b_, how.join, ScratchLine(b_, type, 1, *ends_))
      .emit(outputs, blocks, {how.nothing}, load, [&](const Position& position, const Bundle& window) {
        store_rows(low_.at_output(cursor, rows(), position, divisors(position)), {vector}, how, window);
      });
}

// All rows of the image first; then one vector of outputs walks down after the other.
void RowCode::roll_by_scratch(const Cursor& cursor, const std::vector<Lanes>& vectors, const Rolling& how,
                              const LoadBundle& load) {
  const NestDim& down = nest_.dims[rows()];
  const bool rolls = rules_.rolls_in_registers();
  // Rolling leaves out what lies outside the image.
  const Stretch all = rolls ? Stretch{0, down.visible_input(), 0, 0} : stretch_of(down, 0, down.output);
  const Type type = b_.type(how.nothing);
  const int64_t row_bytes = std::ssize(vectors) * type.vector_bytes();
  // The first tile is the widest.
  if (!plane_) plane_ = b_.add_scratch((all.before + all.inside + all.behind) * row_bytes);
  const ScratchLine plane(b_, type, vectors.size(), *plane_);
  const auto fill = [&](int64_t first, int64_t count) {
    if (count == 0) return;
    plane.store(Position{first}.further(b_.begin_loop(b_.iconst(count)).iv, 1),
                Bundle(vectors.size(), how.nothing));
    b_.end_loop();
  };
  fill(0, all.before);
  const Position row = Position{}.further(b_.begin_loop(b_.iconst(all.inside)).iv, 1);
  plane.store(row.further(all.before), load(row.further(all.first)));
  b_.end_loop();
  fill(all.before + all.inside, all.behind);
  Cursor at = cursor;
  for (size_t i = 0; i < vectors.size(); ++i) {
    const int64_t position = static_cast<int64_t>(i) * type.vector_bytes();
    const ScratchLine down_from(b_, type, 1, plus(*plane_, position));
    const auto load_one = [&](const Position& from) { return down_from.load(from, row_bytes); };
    if (rolls)
      roll_rows(at, {vectors[i]}, how, load_one);
    else
      run_rows(at, vectors[i], how, load_one);
    move_outputs(at, vectors[i].count);
  }
}

State RowCode::reduce_tile(const Cursor& at, const Tile& tile, const TileTaps& taps) {
  if (rules_.is_long()) return reduce_long(at, tile, taps);
  if (taps.lists.empty()) return reducer_.start(no_offsets(tile));
  if (schedule_.scan == RowSchedule::Scan::rows_first && rules_.holds(tile))
    return reduce_rows_first(at, tile, taps);
  reducer_.plan(1, nest_.full_taps());
  return reduce_row_major(at, tile, taps, outer_);
}

State RowCode::reduce_rows_first(const Cursor& at, const Tile& tile, const TileTaps& taps) {
  const RowReduction& plan = rules_.reduction(tile);
  const std::vector<Value> vectors = reduce_columns(at, tile, taps, plan, outer_);
  const Value nothing = reducer_.start(no_offsets(tile))[0];
  return plan.reduce(b_, reducer_, vectors,
                     [&](size_t tap, Value x) { return loads_.where_present(taps, tap, x, nothing); });
}

// Each of the plan's vectors over the taps of dims [0, dims).
std::vector<Value> RowCode::reduce_columns(const Cursor& at, const Tile& tile, const TileTaps& taps,
                                           const RowReduction& plan, size_t dims) {
  int64_t rows_taken = 1;
  for (size_t i = 0; i < dims; ++i) rows_taken *= nest_.dims[i].most_taps();
  reducer_.plan(plan.starts().size(), rows_taken);
  const Lowering::States fresh(plan.starts().size(),
                               reducer_.start(std::vector<int64_t>(static_cast<size_t>(plan.width()), 0)));
  const auto leaf = [&](Lowering::States states, const TapAt& row) {
    for (size_t i = 0; i < states.size(); ++i) {
      const RowVector vector{plan.starts()[i], plan.width(), taps.end};
      TapOffset tap = row.offset;
      if (low_.divides())
        tap.divisor = {row.divisor, loads_.divisors_from(taps.origin + vector.start, vector.width)};
      states[i] = reducer_.accumulate(states[i], loads_.values(tile, taps, row.input, vector), tap);
    }
    return states;
  };
  std::vector<Value> vectors;
  for (const State& state : low_.reduce(at, dims, fresh, leaf, rules_.unroll_limit()))
    vectors.push_back(plan.column(reducer_, state));
  return vectors;
}

const RowCode::TapPlans& RowCode::tap_plans(const Tile& tile, const TileTaps& taps) {
  if (tap_plans_) return *tap_plans_;
  TapPlans& plans = tap_plans_.emplace();
  const bool apart = dim_.kind != DimKind::pool || dim_.stride > 1;
  if (apart && rules_.holds_as_loaded(tile))
    plans.together.emplace(taps.lists, shuffle_style(bytes(nest_.input.dtype)));
  else
    for (size_t tap = 0; tap < taps.lists.size(); ++tap) plans.apart.push_back(loads_.plan(tile, taps, tap));
  return plans;
}

// Over the taps of dims [0, dims) and of the row.
State RowCode::reduce_row_major(const Cursor& at, const Tile& tile, const TileTaps& taps, size_t dims) {
  Lowering::States fresh = {reducer_.start(first_offsets(tile, taps))};
  if (first_seen_ != no_value) fresh[0] = reducer_.with_first_tap(fresh[0], first_seen_);
  const TapPlans& plans = tap_plans(tile, taps);
  const Value identity = b_.vconst_splat(Type::vec(nest_.input.dtype, tile.lanes), reducer_.facts().identity);
  const auto leaf = [&](const Lowering::States& states, const TapAt& row) {
    // A lane that has no first tap has the identity in its place, but no index.
    const bool may_lack_first = tile.border || first_seen_ != no_value;
    State state = may_lack_first && nest_.indices && states[0].empty() ? fresh[0] : states[0];
    const auto is_seen = [&](size_t tap) {
      return !tile.border || loads_.any_lane(tile, static_cast<int64_t>(tap));
    };
    const auto take = [&](size_t tap, Value x, Value beside) {
      TapOffset here = row.offset;
      here.constant += static_cast<int64_t>(tap) * low_.index_step(outer_);
      if (low_.chooses())
        here = low_.choose(here, beside, own_);
      else if (low_.beside())
        here.norm = loads_.where_present(taps, tap, beside, identity);
      if (low_.divides()) here.divisor = {row.divisor, loads_.divisors_at(taps, tap)};
      state = reducer_.accumulate(state, loads_.where_present(taps, tap, x, identity), here);
    };
    const auto values = [&](const RowVector& vector) { return loads_.values(tile, taps, row.input, vector); };
    const auto beside = [&](const RowVector& vector) {
      return low_.chooses() ? loads_.indices(tile, taps, row.beside, vector)
                            : loads_.values(tile, taps, row.beside, vector);
    };
    if (const std::optional<PlacedLanes>& together = plans.together) {
      const auto loaded = [&](const TileLoads::Load& load) {
        return TileLoads::all(together->starts(), together->width(), 0, taps.end, load);
      };
      std::optional<PlacedLanes::Extraction> others;
      if (low_.beside()) others.emplace(*together, b_, loaded(beside));
      PlacedLanes::Extraction found(*together, b_, loaded(values));
      for (size_t tap = 0; tap < taps.lists.size(); ++tap) {
        const Value other = others ? others->next() : no_value;
        const Value x = found.next();
        if (is_seen(tap)) take(tap, x, other);
      }
    } else {
      for (size_t tap = 0; tap < taps.lists.size(); ++tap) {
        if (!is_seen(tap)) continue;
        const Value other = low_.beside() ? loads_.tap(plans.apart[tap], beside) : no_value;
        take(tap, loads_.tap(plans.apart[tap], values), other);
      }
    }
    return Lowering::States{state.empty() ? fresh[0] : state};
  };
  return low_.reduce(at, dims, fresh, leaf, rules_.unroll_limit())[0];
}

// Kernels too long for straight-line code: loops over all taps; only for tiles inside the image.
State RowCode::reduce_long(Cursor at, const Tile& tile, const TileTaps& taps) {
  at.windows.push_back(low_.usual_window(outer_));
  reducer_.plan(1, nest_.full_taps());
  const Lowering::States fresh = {reducer_.start(no_offsets(tile))};
  const TileLoads::Tap first = loads_.plan(tile, taps, 0);
  const auto leaf = [&](const Lowering::States& states, const TapAt& tap) {
    const auto values = [&](const RowVector& vector) { return loads_.values(tile, taps, tap.input, vector); };
    return Lowering::States{reducer_.accumulate(states[0], loads_.tap(first, values), tap.offset)};
  };
  return low_.reduce(at, outer_ + 1, fresh, leaf, rules_.unroll_limit())[0];
}

// -------------------------------------------------------------------------------------------- what is stored

// Offset of each lane's first tap inside the image.
std::vector<int64_t> RowCode::first_offsets(const Tile& tile, const TileTaps& taps) const {
  std::vector<int64_t> first = no_offsets(tile);
  const bool are_known = nest_.indices && !nest_.has_any_size();
  for (size_t lane = 0; are_known && lane < taps.windows.size(); ++lane) {
    const Window window = dim_.window(tile.begin + static_cast<int64_t>(lane));
    if (window.taps == 0) continue;
    const int64_t skipped = (window.first - taps.windows[lane].first) / window.step;
    first[lane] = skipped * low_.index_step(outer_);
  }
  return first;
}

Lanes RowCode::stored_lanes(const Tile& tile, const TileTaps& taps, Value iv, const TileLoop& loop) {
  Lanes lanes = column_lanes(nest_, tile);
  if (nest_.indices) place_indices(lanes, tile, taps, iv, loop);
  return lanes;
}

// The columns' summands of the indices: the origins of their windows, or backward they themselves.
void RowCode::place_indices(Lanes& lanes, const Tile& tile, const TileTaps& taps, Value iv,
                            const TileLoop& loop) {
  const int64_t weight = low_.index_rule().dims[outer_];
  const bool of_window = low_.index_rule().of_window;
  if (of_window && !backward_) return;
  const int64_t origin = of_window ? 0 : backward_ ? tile.begin : taps.origin;
  const int64_t step = of_window ? 0 : backward_ ? loop.outputs : loop.inputs;
  lanes.origin = b_.iconst(origin * weight);
  if (iv != no_value) lanes.origin = b_.iadd(lanes.origin, b_.imul(iv, b_.iconst(step * weight)));
  lanes.ramp = no_offsets(tile);
  for (size_t lane = 0; lane < taps.windows.size(); ++lane) {
    const Window& window = taps.windows[lane];
    const int64_t position = of_window   ? window.first_tap
                             : backward_ ? static_cast<int64_t>(lane)
                                         : window.first - origin;
    lanes.ramp[lane] = position * weight;
  }
}

}  // namespace pooljit::ir
