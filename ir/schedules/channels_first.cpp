// channels_first: a vector holds neighbouring outputs of one row (the innermost dimension) of one channel.
//
// A row is cut into tiles of `lanes` outputs. Inside the image tiles repeat: one loop, of as many tiles as it
// takes until windows lie alike again (one for ordinary pooling). At the borders and at the end a tile has
// constant masks: lanes outside the image load the identity. Where the ISA cannot mask (tail=split), border
// outputs are done one by one and the rest of the row in smaller and smaller vectors. Lanes that lie apart
// come from contiguous loads and shuffles.
//
// order=rows_first reduces the taps of the outer dimensions first, on the contiguous vectors, and shuffles
// once per tile; row_major takes every tap in its place, which indices and `zeros=first` need. order=rolling
// walks down a tile's rows, reduces each row once and lets the windows of neighbouring outputs share that.
#include <algorithm>
#include <functional>
#include <limits>

#include "ir/schedules/family.h"
#include "ir/schedules/lowering.h"
#include "ir/schedules/rolling_outputs.h"
#include "ir/schedules/row_tiles.h"

namespace pooljit::ir {
namespace {

constexpr int64_t unroll_rows = 16;  // straight-line code up to this many taps of the outer dimensions
constexpr int64_t unroll_columns =
    32;  // ... of the innermost; longer kernels loop, with borders from the run table
constexpr size_t most_tiles = 40;     // in the code of a row
constexpr int64_t static_border = 8;  // tail=split: border outputs are straight-line code up to this kernel

// Vectors of a row that may be held at once. A sum holds each twice (a part and the whole), indices take most
// of the rest.
size_t most_vectors(const PoolNest& nest, Isa isa, const Reducer& reducer) {
  const int registers = info(isa).vector_registers - extra_registers(nest, reducer);
  return static_cast<size_t>(nest.indices ? registers / 4 : registers * 3 / 8);
}

bool columns_adjacent(const PoolNest& nest) {
  const NestDim& dim = nest.dims.back();
  const auto adjacent = [](const View& view, int64_t extent) {
    return view.channel_block == 1 && (view.strides.back() == 1 || extent == 1);
  };
  return adjacent(nest.input, dim.input) && adjacent(nest.output, dim.output) &&
         (!nest.indices || adjacent(*nest.indices, nest.is_backward() ? dim.input : dim.output));
}

// Bytes shuffle well only in regular patterns. (Lanes of 2 bytes: the vector that `cover` saves is worth more
// than its irregular shuffle costs.)
PlacedLanes::Style style(int shuffled_bytes) {
  return shuffled_bytes < 2 ? PlacedLanes::Style::group : PlacedLanes::Style::cover;
}

// True if the vectors of one row's tile can be held at once.
bool holds_row(const PoolNest& nest, const Tile& tile, int shuffled_bytes, Isa isa, const Reducer& reducer) {
  const NestDim& dim = nest.dims.back();
  if (dim.most_taps() > unroll_columns || dim.period().input > unroll_columns) return false;
  const TileTaps taps = tile_taps(dim, tile);
  return taps.lists.empty() ||
         PlacedLanes(taps.lists, style(shuffled_bytes)).starts().size() <= most_vectors(nest, isa, reducer);
}

bool holds_rows(const PoolNest& nest, const std::vector<TileLoop>& row, int lanes, int shuffled_bytes,
                Isa isa, const Reducer& reducer) {
  for (const TileLoop& loop : row)
    for (const Tile& tile : loop.tiles)
      if (tile.lanes == lanes && !holds_row(nest, tile, shuffled_bytes, isa, reducer)) return false;
  return true;
}

// Kernels too long for straight-line code, and borders of any length where lanes cannot be masked off, are
// done in loops.
bool borders_from_table(const NestDim& dim, bool masks) {
  return dim.kind == DimKind::pool && (dim.kernel > unroll_columns || (!masks && dim.kernel > static_border));
}

// The outputs of a row with whole windows whose taps, backward of an average, all have the usual divisor.
Interior uniform(const PoolNest& nest) {
  const NestDim& dim = nest.dims.back();
  Interior inside = interior(dim);
  if (!nest.is_backward() || nest.reduction != Reduction::avg || nest.divisor_override) return inside;
  const NestDim forward = forward_of(dim);
  const int64_t usual = usual_divisor(nest, forward);
  const auto is_uniform = [&](int64_t output) {
    const Window window = dim.window(output);
    for (int64_t tap = 0; tap < window.taps; ++tap)
      if (divisor_taps(nest, forward.window(window.first + tap * window.step)) != usual) return false;
    return true;
  };
  // Divisors differ near the ends of the forward's output only, but for adaptive windows.
  while (inside.begin < inside.end && !is_uniform(inside.begin)) ++inside.begin;
  while (inside.begin < inside.end && !is_uniform(inside.end - 1)) --inside.end;
  if (dim.kind == DimKind::gather) return inside;
  for (int64_t output = inside.begin; output < inside.end; ++output)
    if (!is_uniform(output)) return {};
  return inside;
}

std::vector<TileLoop> cut_row(const PoolNest& nest, const Schedule& schedule, Isa isa) {
  const bool masks = schedule.tail != Tail::split && can_mask(nest, isa);
  const NestDim& dim = nest.dims.back();
  return cut_row(dim, {schedule.lanes, uniform(nest), schedule.tail, masks, borders_from_table(dim, masks)});
}

// True if the straight-line code of a row has its bounds.
bool is_short(const NestDim& dim, const std::vector<TileLoop>& row) {
  return (dim.kind == DimKind::pool || dim.most_taps() <= unroll_columns) && tile_count(row) <= most_tiles;
}

// Outputs of a row that vectors may cover; the others are done one by one.
int64_t overlappable(const PoolNest& nest, Isa isa) {
  const NestDim& dim = nest.dims.back();
  const Interior inside = interior(dim);
  return can_mask(nest, isa) && dim.most_taps() <= unroll_columns ? dim.output : inside.end - inside.begin;
}

// Rolling: a tile also holds the vectors of a row, its masks and some constants.
bool can_roll(const PoolNest& nest, const Reducer& reducer, Isa isa, bool masks) {
  if (nest.dims.size() < 2 || nest.is_backward() || !reducer.any_order()) return false;
  const NestDim& row = nest.dims.back();
  const size_t rolled = nest.dims.size() - 2;
  if (row.kind != DimKind::pool || borders_from_table(row, masks) || !RollingOutputs::can_serve(nest, rolled))
    return false;
  const size_t vectors = RollingOutputs::vectors(nest, rolled, reducer.is_idempotent());
  const size_t row_vectors = row.stride == 1 ? 1 : most_vectors(nest, isa, reducer);
  return vectors + row_vectors + 5 + static_cast<size_t>(extra_registers(nest, reducer)) <=
         static_cast<size_t>(info(isa).vector_registers);
}

std::vector<Schedule> enumerate_channels_first(const PoolNest& nest, Isa isa, int working_bytes) {
  if (!columns_adjacent(nest)) return {};
  Builder probe("", isa);
  const auto reducer = make_reducer(nest, probe);
  const NestDim& dim = nest.dims.back();
  Schedule schedule{.family = Family::channels_first, .lanes = fitting_lanes(dim.output, isa, working_bytes)};
  std::vector<Schedule> found;
  const auto add_tail = [&](Tail tail) {
    schedule.tail = tail;
    const std::vector<TileLoop> row = cut_row(nest, schedule, isa);
    if (!is_short(dim, row)) return;
    if (schedule.order == Order::rows_first &&
        !holds_rows(nest, row, schedule.lanes, working_bytes, isa, **reducer))
      return;
    const bool masks = tail != Tail::split && can_mask(nest, isa);
    if (schedule.order == Order::rolling && !can_roll(nest, **reducer, isa, masks)) return;
    found.push_back(schedule);
  };
  const auto add = [&](Order order) {
    schedule.order = order;
    if (can_mask(nest, isa)) add_tail(Tail::mask);
    if (dim.output % schedule.lanes != 0 && overlappable(nest, isa) >= schedule.lanes)
      add_tail(Tail::overlap);
    add_tail(Tail::split);
  };
  // Lanes of a strided row are shuffled once per tile rows first, once per row rolling.
  const bool any_order = (*reducer)->any_order();
  if (any_order && dim.stride == 1) add(Order::rolling);
  if (any_order) add(Order::rows_first);
  if (any_order && dim.stride > 1) add(Order::rolling);
  add(Order::row_major);
  return found;
}

class ChannelsFirst {
 public:
  ChannelsFirst(const PoolNest& nest, const Schedule& schedule, Builder& builder, Reducer& reducer)
      : nest_(nest),
        schedule_(schedule),
        dim_(nest.dims.back()),
        outer_(nest.dims.size() - 1),
        b_(builder),
        reducer_(reducer),
        low_(nest, builder, reducer),
        backward_(nest.is_backward()) {}

  void emit() {
    Cursor cursor = low_.start();
    int loops = low_.open_batch(cursor);
    loops += low_.open_channels(cursor);
    const bool rolling = schedule_.order == Order::rolling;
    for (size_t i = 0; i < (rolling ? outer_ - 1 : outer_); ++i) {
      loops += low_.open_runs(cursor, /*task=*/i == 0);
      loops += low_.open_outputs(cursor);
    }
    const bool masks = schedule_.tail != Tail::split && can_mask(nest_, b_.isa());
    const std::vector<TileLoop> row = cut_row(nest_, schedule_, b_.isa());
    low_.split_full(cursor, [&](const Cursor& at) {
      for (const TileLoop& tiles : row) emit_tiles(at, tiles);
      if (borders_from_table(dim_, masks) && !all_inside()) emit_borders(at);
    });
    low_.close(loops);
    b_.ret();
  }

 private:
  bool all_inside() const {
    const Interior inside = interior(dim_);
    return inside.begin == 0 && inside.end == dim_.output;
  }

  // ------------------------------------------------------------------------------------------------ one tile
  void emit_tiles(const Cursor& cursor, const TileLoop& tiles) {
    Cursor at = cursor;
    Value iv = no_value;
    if (tiles.count > 1) {
      iv = b_.begin_loop(b_.iconst(tiles.count)).iv;
      at.input = plus(at.input, iv, tiles.inputs * bytes(nest_.input.dtype));
      low_.for_each_output(at, [&](Address& address, const View& view) {
        address = plus(address, iv, byte_stride(view, tiles.outputs * view.strides.back()));
      });
      if (low_.chooses()) at.indices = plus(at.indices, iv, tiles.inputs * bytes(nest_.indices->dtype));
    }
    for (const Tile& tile : tiles.tiles) {
      const TileTaps taps = tile_taps(dim_, tile);
      Cursor here = at;
      here.input = plus(here.input, taps.origin * bytes(nest_.input.dtype));
      low_.for_each_output(here, [&](Address& address, const View& view) {
        address = plus(address, byte_stride(view, tile.begin * view.strides.back()));
      });
      if (low_.chooses()) here.indices = plus(here.indices, taps.origin * bytes(nest_.indices->dtype));
      const Lanes lanes = stored_lanes(tile, taps, iv, tiles);
      own_ = low_.chooses() ? low_.own_index(here, lanes) : no_value;
      if (schedule_.order == Order::rolling)
        roll(here, tile, taps, lanes);
      else
        low_.store(here, reduce_tile(here, tile, taps), lanes);
    }
    if (tiles.count > 1) low_.close(1);
  }

  void roll(const Cursor& cursor, const Tile& tile, const TileTaps& taps, const Lanes& lanes) {
    const size_t rolled = outer_ - 1;
    const auto load = [&](const Address& input) {
      Cursor at = cursor;
      at.input = input;
      return RollingOutputs::Column{reducer_.value(reduce_row_major(at, tile, taps, rolled))};
    };
    const auto store = [&](const Cursor& at, const RollingOutputs::Column& column) {
      low_.store(at, {column[0]}, lanes);
    };
    reducer_.plan(1, nest_.full_taps() / nest_.dims[rolled].most_taps());
    const Value nothing = reducer_.value(reducer_.start(no_offsets(tile)));
    RollingOutputs(nest_, rolled, b_, reducer_, low_).emit(cursor, {nothing}, load, store);
  }

  State reduce_tile(const Cursor& at, const Tile& tile, const TileTaps& taps) {
    if (dim_.kind == DimKind::pool && dim_.kernel > unroll_columns) return reduce_long(at, tile, taps);
    const int widest = reducer_.working_bytes();
    if (taps.lists.empty()) return reducer_.start(no_offsets(tile));
    if (schedule_.order == Order::rows_first && holds_row(nest_, tile, widest, b_.isa(), reducer_))
      return reduce_rows_first(at, tile, taps);
    reducer_.plan(1, nest_.full_taps());
    return reduce_row_major(at, tile, taps, outer_);
  }

  State reduce_rows_first(const Cursor& at, const Tile& tile, const TileTaps& taps) {
    const PlacedLanes plan(taps.lists, style(reducer_.working_bytes()));
    reducer_.plan(plan.starts().size(), nest_.full_taps() / dim_.most_taps());
    const State nothing = reducer_.start(no_offsets(tile));
    const State fresh_vector =
        plan.width() == tile.lanes ? nothing : reducer_.start(std::vector<int64_t>(size_t(plan.width()), 0));
    const Lowering::States fresh(plan.starts().size(), fresh_vector);
    const auto leaf = [&](Lowering::States states, const TapAt& row) {
      for (size_t i = 0; i < states.size(); ++i) {
        const Part part{plan.starts()[i], plan.width(), taps.end};
        TapOffset tap = row.offset;
        if (low_.divides()) tap.divisor = {row.divisor, divisors_from(taps.origin + part.start, part.width)};
        states[i] = reducer_.accumulate(states[i], load(tile, taps, row.input, part), tap);
      }
      return states;
    };
    const Lowering::States rows = low_.reduce(at, outer_, fresh, leaf, unroll_limit());
    std::vector<Value> vectors;
    for (const State& state : rows) vectors.push_back(reducer_.value(state));
    State result;
    plan.extract(b_, vectors, [&](size_t tap, Value column) {
      result = reducer_.combine(result, {where_present(taps, tap, column, nothing[0])});
    });
    return result;
  }

  // Over the taps of dims [0, dims) and of the row.
  State reduce_row_major(const Cursor& at, const Tile& tile, const TileTaps& taps, size_t dims) {
    const Lowering::States fresh = {reducer_.start(first_offsets(tile, taps))};
    const int width = bytes(nest_.input.dtype);
    const bool apart = dim_.kind != DimKind::pool || dim_.stride > 1;
    const bool shared = apart && tile.lanes > 1 && holds_row(nest_, tile, width, b_.isa(), reducer_);
    const Value identity = b_.vconst_splat(Type::vec(nest_.input.dtype, tile.lanes), reducer_.identity());
    const auto leaf = [&](const Lowering::States& states, const TapAt& row) {
      State state = tile.border && states[0].empty() ? fresh[0] : states[0];
      const auto take = [&](size_t tap, Value x, Value indices) {
        if (tile.border && !any_lane(tile, static_cast<int64_t>(tap))) return;
        TapOffset here = row.offset;
        here.constant += static_cast<int64_t>(tap) * low_.index_step(outer_);
        if (low_.chooses()) here = low_.choose(here, indices, own_);
        if (low_.divides()) here.divisor = {row.divisor, divisors_at(taps, tap)};
        state = reducer_.accumulate(state, where_present(taps, tap, x, identity), here);
      };
      const auto values = [&](const Part& part) { return load(tile, taps, row.input, part); };
      const auto indices = [&](const Part& part) { return load_indices(tile, taps, row.indices, part); };
      if (shared) {
        const PlacedLanes plan(taps.lists, style(width));
        Values columns(taps.lists.size(), no_value);
        if (low_.chooses())
          plan.extract(b_, load_all(plan, 0, taps.end, indices),
                       [&](size_t tap, Value column) { columns[tap] = column; });
        plan.extract(b_, load_all(plan, 0, taps.end, values),
                     [&](size_t tap, Value column) { take(tap, column, columns[tap]); });
      } else {
        for (size_t tap = 0; tap < taps.lists.size(); ++tap) {
          const Value chosen = low_.chooses() ? load_tap(tile, taps, tap, indices) : no_value;
          take(tap, load_tap(tile, taps, tap, values), chosen);
        }
      }
      return Lowering::States{state};
    };
    return low_.reduce(at, dims, fresh, leaf, unroll_limit())[0];
  }

  // Kernels too long for straight-line code: loops over all taps; only for tiles inside the image.
  State reduce_long(Cursor at, const Tile& tile, const TileTaps& taps) {
    at.windows.push_back(low_.usual_window(outer_));
    reducer_.plan(1, nest_.full_taps());
    const Lowering::States fresh = {reducer_.start(no_offsets(tile))};
    const auto leaf = [&](const Lowering::States& states, const TapAt& tap) {
      const auto values = [&](const Part& part) { return load(tile, taps, tap.input, part); };
      return Lowering::States{reducer_.accumulate(states[0], load_tap(tile, taps, 0, values), tap.offset)};
    };
    return low_.reduce(at, outer_ + 1, fresh, leaf, unroll_limit())[0];
  }

  // Border outputs one by one, with the taps that the run table tells.
  void emit_borders(Cursor cursor) {
    int loops = low_.open_runs(cursor, /*task=*/false, Lowering::Runs::borders);
    loops += low_.open_outputs(cursor);
    reducer_.plan(1, nest_.full_taps());
    const Lowering::States fresh = {reducer_.start({0})};
    const auto leaf = [&](const Lowering::States& states, const TapAt& tap) {
      const Value x = b_.load(Type::vec(nest_.input.dtype, 1), tap.input);
      return Lowering::States{reducer_.accumulate(states[0], x, tap.offset)};
    };
    low_.store(cursor, low_.reduce(cursor, outer_ + 1, fresh, leaf, unroll_limit())[0], Lanes::channels(1));
    low_.close(loops);
  }

  // ------------------------------------------------------------------------------------------------ loads
  struct Part {
    int64_t start;
    int width;
    int64_t end;  // of the positions that anyone needs
  };
  using Load = std::function<Value(const Part&)>;

  // Which elements start .. start + width - 1 are wanted, 0/1 each: not those outside the image or behind the
  // end. Empty: all.
  std::vector<int64_t> wanted(const Tile& tile, const TileTaps& taps, const Part& part) const {
    std::vector<int64_t> wanted;
    for (int64_t position = part.start; position < part.start + part.width; ++position)
      wanted.push_back(position < part.end && (!tile.border || in_image(taps.origin + position)));
    if (std::find(wanted.begin(), wanted.end(), 0) == wanted.end()) wanted.clear();
    return wanted;
  }

  // From `row`, which stands at the tile's origin.
  Value load(const Tile& tile, const TileTaps& taps, const Address& row, const Part& part) {
    const Type type = Type::vec(nest_.input.dtype, part.width);
    const Address address = plus(row, part.start * bytes(type.dtype));
    const std::vector<int64_t> lanes = wanted(tile, taps, part);
    if (lanes.empty()) return b_.load(type, address);
    const Value identity = b_.vconst_splat(type, reducer_.identity());
    if (std::find(lanes.begin(), lanes.end(), 1) == lanes.end()) return identity;
    return b_.load(type, address, b_.vmask(type.mask_of(), lanes), identity);
  }

  Value load_indices(const Tile& tile, const TileTaps& taps, const Address& row, const Part& part) {
    const Address address = plus(row, part.start * bytes(nest_.indices->dtype));
    return low_.load_indices(address, part.width, wanted(tile, taps, part));
  }

  static std::vector<Value> load_all(const PlacedLanes& plan, int64_t offset, int64_t end, const Load& load) {
    std::vector<Value> vectors;
    for (int64_t start : plan.starts()) vectors.push_back(load({offset + start, plan.width(), end}));
    return vectors;
  }

  // One tap of each lane.
  Value load_tap(const Tile& tile, const TileTaps& taps, size_t tap, const Load& load) {
    PlacedLanes::List list = taps.lists[tap];
    int64_t first = std::numeric_limits<int64_t>::max();
    for (int64_t position : list)
      if (position != PlacedLanes::anything) first = std::min(first, position);
    int64_t end = 0;
    for (size_t lane = 0; lane < list.size(); ++lane) {
      if (list[lane] == PlacedLanes::anything) continue;
      if (static_cast<int64_t>(lane) < tile.valid) end = std::max(end, list[lane] + 1);
      list[lane] -= first;
    }
    const PlacedLanes plan({list}, style(bytes(nest_.input.dtype)));
    Value lanes = no_value;
    plan.extract(b_, load_all(plan, first, end, load), [&](size_t, Value value) { lanes = value; });
    return lanes;
  }

  // Backward of an average: what the columns add to the divisors, of input positions; 1 outside the image.
  int64_t divisor_at(int64_t position) const {
    const DimPlan& plan = low_.plan(outer_);
    if (plan.divisors.empty() || !in_image(position)) return plan.common_divisor;
    return plan.divisors[static_cast<size_t>(position)];
  }
  std::vector<int64_t> divisors_from(int64_t position, int width) const {
    std::vector<int64_t> divisors;
    for (int lane = 0; lane < width; ++lane) divisors.push_back(divisor_at(position + lane));
    return divisors;
  }
  std::vector<int64_t> divisors_at(const TileTaps& taps, size_t tap) const {
    std::vector<int64_t> divisors;
    for (int64_t position : taps.lists[tap])
      divisors.push_back(position == PlacedLanes::anything ? divisor_at(-1)
                                                           : divisor_at(taps.origin + position));
    return divisors;
  }

  // x in the lanes whose windows have that tap.
  Value where_present(const TileTaps& taps, size_t tap, Value x, Value otherwise) {
    const std::vector<int64_t>& present = taps.present[tap];
    if (present.empty()) return x;
    return b_.select(b_.vmask(b_.type(x).mask_of(), present), x, otherwise);
  }

  // ------------------------------------------------------------------------------------------------ facts of
  // a tile
  bool in_image(int64_t position) const { return position >= 0 && position < dim_.visible_input(); }

  bool any_lane(const Tile& tile, int64_t tap) const {
    for (int64_t lane = 0; lane < tile.valid; ++lane) {
      const Window window = dim_.whole_window(tile.begin + lane);
      if (tap < window.taps && in_image(window.first + tap * window.step)) return true;
    }
    return false;
  }

  static std::vector<int64_t> no_offsets(const Tile& tile) {
    return std::vector<int64_t>(static_cast<size_t>(tile.lanes), 0);
  }

  // Offset of each lane's first tap inside the image.
  std::vector<int64_t> first_offsets(const Tile& tile, const TileTaps& taps) const {
    std::vector<int64_t> first = no_offsets(tile);
    for (size_t lane = 0; lane < taps.windows.size(); ++lane) {
      const Window window = dim_.window(tile.begin + static_cast<int64_t>(lane));
      if (window.taps == 0) continue;
      const int64_t skipped = (window.first - taps.windows[lane].first) / window.step;
      first[lane] = skipped * low_.index_step(outer_);
    }
    return first;
  }

  Lanes stored_lanes(const Tile& tile, const TileTaps& taps, Value iv, const TileLoop& loop) {
    Lanes lanes = Lanes::channels(tile.lanes);
    lanes.are_columns = true;
    std::vector<int64_t> empty = no_offsets(tile);
    for (int64_t lane = 0; lane < tile.valid; ++lane) {
      const size_t i = static_cast<size_t>(lane);
      const Window window = dim_.window(tile.begin + lane);
      lanes.divisor_taps[i] = divisor_taps(nest_, window);
      empty[i] = window.taps == 0;
    }
    if (std::find(empty.begin(), empty.end(), 1) != empty.end()) lanes.empty = std::move(empty);
    if (tile.valid < tile.lanes) {
      lanes.stored = no_offsets(tile);
      std::fill_n(lanes.stored.begin(), tile.valid, 1);
    }
    if (nest_.indices) place_indices(lanes, tile, taps, iv, loop);
    return lanes;
  }

  // What the columns add to the indices: the origins of their windows, or backward they themselves.
  void place_indices(Lanes& lanes, const Tile& tile, const TileTaps& taps, Value iv, const TileLoop& loop) {
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
      const int64_t place = of_window   ? window.first_tap
                            : backward_ ? static_cast<int64_t>(lane)
                                        : window.first - origin;
      lanes.ramp[lane] = place * weight;
    }
  }

  int64_t unroll_limit() const { return schedule_.taps == Taps::unroll ? unroll_rows : 1; }

  const PoolNest& nest_;
  const Schedule& schedule_;
  const NestDim& dim_;
  const size_t outer_;
  Builder& b_;
  Reducer& reducer_;
  Lowering low_;
  const bool backward_;
  Value own_ = no_value;  // backward of a maximum: the indices that the tile's lanes look for
};

Result<Program> lower_channels_first(const PoolNest& nest, const Schedule& schedule, Isa isa) {
  Builder builder(print(schedule), isa);
  auto reducer = make_reducer(nest, builder);
  if (!reducer) return tl::unexpected(reducer.error());
  if (!columns_adjacent(nest))
    return unsupported("schedule.strides", "channels_first needs columns that lie next to each other",
                       "use channels_last(lanes=1)");
  const std::vector<TileLoop> row = cut_row(nest, schedule, isa);
  if (!is_short(nest.dims.back(), row))
    return unsupported("schedule.code_size", "the windows of a row differ too much for straight-line code",
                       "use channels_last(lanes=1)");
  if (schedule.order == Order::rolling &&
      !can_roll(nest, **reducer, isa, schedule.tail != Tail::split && can_mask(nest, isa)))
    return unsupported(
        "schedule.order",
        "rolling needs dense windows that overlap along the rows, no indices or zeros=first, and "
        "registers for what neighbouring windows share",
        "use order=rows_first or row_major");
  if (schedule.order == Order::rows_first) {
    if (!(*reducer)->any_order())
      return unsupported("schedule.order", "indices and zeros=first need the taps in row-major order",
                         "use order=row_major");
    if (!holds_rows(nest, row, schedule.lanes, (*reducer)->working_bytes(), isa, **reducer))
      return unsupported("schedule.registers",
                         "rows_first would hold more vectors at once than the registers allow",
                         "use order=row_major or fewer lanes");
  }
  if (schedule.tail == Tail::overlap && overlappable(nest, isa) < schedule.lanes)
    return unsupported("schedule.tail",
                       "an overlapping tail needs at least as many outputs in a row as lanes",
                       "use tail=mask or tail=split");
  ChannelsFirst(nest, schedule, builder, **reducer).emit();
  return builder.finish();
}

}  // namespace

const FamilyInfo channels_first_family = {Family::channels_first, "channels_first", enumerate_channels_first,
                                          lower_channels_first};

}  // namespace pooljit::ir
