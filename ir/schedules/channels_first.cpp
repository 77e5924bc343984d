// channels_first: a vector holds neighbouring outputs of one row (the innermost dimension) of one channel.
//
// A row is cut into tiles of `lanes` outputs. Inside the image all tiles are alike: one loop. At the borders
// and at the end a tile has constant masks: lanes outside the image load the identity. Where the ISA cannot
// mask (tail=split), border outputs are done one by one and the rest of the row in smaller and smaller
// vectors. Strided lanes come from contiguous loads and shuffles.
//
// order=rows_first reduces the taps of the outer dimensions first, on the contiguous vectors, and shuffles
// once per tile; row_major takes every tap in its place, which indices and `zeros=first` need.
#include <algorithm>

#include "ir/schedules/family.h"
#include "ir/schedules/lowering.h"
#include "ir/schedules/strided_lanes.h"

namespace pooljit::ir {
namespace {

constexpr int64_t unroll_rows = 16;  // straight-line code up to this many taps of the outer dimensions
constexpr int64_t unroll_columns =
    32;  // ... of the innermost; longer kernels loop, with borders from the run table
constexpr int64_t static_border = 8;  // tail=split: border outputs are straight-line code up to this kernel

// Vectors of a row that may be held at once. A sum holds each twice (a part and the whole), indices take most
// of the rest.
size_t most_vectors(const PoolNest& nest, Isa isa) {
  const int registers = info(isa).vector_registers;
  return static_cast<size_t>(nest.indices ? registers / 4 : registers * 3 / 8);
}

bool columns_adjacent(const PoolNest& nest) {
  const NestDim& dim = nest.dims.back();
  return (nest.input.strides.back() == 1 || dim.input == 1) &&
         (nest.output.strides.back() == 1 || dim.output == 1);
}

// Bytes shuffle well only in regular patterns.
StridedLanes::Style style(int shuffled_bytes) {
  return shuffled_bytes < 4 ? StridedLanes::Style::group : StridedLanes::Style::cover;
}

StridedLanes plan_taps(const PoolNest& nest, int lanes, int shuffled_bytes) {
  const NestDim& dim = nest.dims.back();
  std::vector<int64_t> offsets;
  for (int64_t tap = 0; tap < dim.kernel; ++tap) offsets.push_back(tap * dim.dilation);
  return StridedLanes(lanes, dim.stride, std::move(offsets), style(shuffled_bytes));
}

// True if the vectors of one row's tile can be held at once.
bool holds_row(const PoolNest& nest, int lanes, int shuffled_bytes, Isa isa) {
  const NestDim& dim = nest.dims.back();
  if (dim.kernel > unroll_columns || dim.stride > unroll_columns) return false;
  return plan_taps(nest, lanes, shuffled_bytes).starts().size() <= most_vectors(nest, isa);
}

// Outputs of a row that vectors may cover; the others are done one by one.
int64_t overlappable(const PoolNest& nest, Isa isa) {
  const NestDim& dim = nest.dims.back();
  const Interior inside = interior(dim);
  return can_mask(nest, isa) && dim.kernel <= unroll_columns ? dim.output : inside.end - inside.begin;
}

std::vector<Schedule> enumerate_channels_first(const PoolNest& nest, Isa isa, int working_bytes) {
  if (!columns_adjacent(nest)) return {};
  Builder probe("", isa);
  const auto reducer = make_reducer(nest, probe);
  const NestDim& dim = nest.dims.back();
  Schedule schedule{.family = Family::channels_first, .lanes = fitting_lanes(dim.output, isa, working_bytes)};
  std::vector<Schedule> found;
  const auto add = [&](Order order) {
    schedule.order = order;
    if (can_mask(nest, isa)) schedule.tail = Tail::mask, found.push_back(schedule);
    if (dim.output % schedule.lanes != 0 && overlappable(nest, isa) >= schedule.lanes)
      schedule.tail = Tail::overlap, found.push_back(schedule);
    schedule.tail = Tail::split, found.push_back(schedule);
  };
  if ((*reducer)->any_order() && holds_row(nest, schedule.lanes, working_bytes, isa)) add(Order::rows_first);
  add(Order::row_major);
  return found;
}

// Tiles that run the same code: `count` of them from output `begin` on.
struct Tile {
  int64_t begin = 0;
  int64_t count = 1;
  int lanes = 1;
  int64_t valid = 1;    // lanes that are stored: the first ones
  bool border = false;  // some tap of some valid lane lies outside the image
};

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
        masks_(schedule.tail != Tail::split && can_mask(nest, builder.isa())) {}

  void emit() {
    Cursor cursor = low_.start();
    int loops = low_.open_batch(cursor);
    loops += low_.open_channels(cursor);
    for (size_t i = 0; i < outer_; ++i) {
      loops += low_.open_runs(cursor, /*task=*/i == 0);
      loops += low_.open_outputs(cursor);
    }
    const std::vector<Tile> row = tiles();
    low_.split_full(cursor, [&](const Cursor& at) {
      for (const Tile& tile : row) emit_tiles(at, tile);
      if (borders_from_table() && !all_inside()) emit_borders(at);
    });
    low_.close(loops);
    b_.ret();
  }

 private:
  // ------------------------------------------------------------------------------------------------ cutting
  // a row
  bool borders_from_table() const {
    return dim_.kernel > unroll_columns || (!masks_ && dim_.kernel > static_border);
  }

  bool all_inside() const {
    const Interior inside = interior(dim_);
    return inside.begin == 0 && inside.end == dim_.output;
  }

  std::vector<Tile> tiles() const {
    const Interior inside = interior(dim_);
    std::vector<Tile> row;
    if (masks_ && !borders_from_table()) {
      cut(row, 0, dim_.output, inside);
      return row;
    }
    const auto one_by_one = [&](int64_t begin, int64_t end) {
      for (int64_t output = begin; output < end && !borders_from_table(); ++output)
        row.push_back({output, 1, 1, 1, true});
    };
    one_by_one(0, inside.begin);
    cut(row, inside.begin, inside.end, inside);
    one_by_one(inside.end, dim_.output);
    return row;
  }

  // Outputs begin .. end-1 as tiles; neighbours inside the image become one loop.
  void cut(std::vector<Tile>& row, int64_t begin, int64_t end, const Interior& inside) const {
    const int64_t lanes = schedule_.lanes;
    while (begin + lanes <= end) {
      Tile tile{begin, 1, schedule_.lanes, lanes, begin < inside.begin || begin + lanes > inside.end};
      if (!tile.border) tile.count = (std::min(end, inside.end) - begin) / lanes;
      begin += tile.count * lanes;
      row.push_back(tile);
    }
    for (const Slice& slice : slices(begin, end, schedule_.lanes, schedule_.tail)) {
      const int64_t valid = slice.stored.empty() ? slice.lanes : end - slice.begin;
      const bool border = slice.begin < inside.begin || slice.begin + valid > inside.end;
      row.push_back({slice.begin, 1, slice.lanes, valid, border});
    }
  }

  // ------------------------------------------------------------------------------------------------ one tile
  void emit_tiles(const Cursor& cursor, const Tile& tile) {
    Cursor at = cursor;
    const int64_t first = tile.begin * dim_.stride - dim_.pad_begin;
    at.input = plus(at.input, first * bytes(nest_.input.dtype));
    at.output = plus(at.output, tile.begin * bytes(nest_.output.dtype));
    if (nest_.indices) at.indices = plus(at.indices, tile.begin * bytes(nest_.indices->dtype));
    Value origin = b_.iconst(first);
    if (tile.count > 1) {
      const Value iv = b_.begin_loop(b_.iconst(tile.count)).iv;
      at.input = plus(at.input, iv, tile.lanes * dim_.stride * bytes(nest_.input.dtype));
      at.output = plus(at.output, iv, int64_t{tile.lanes} * bytes(nest_.output.dtype));
      if (nest_.indices) {
        at.indices = plus(at.indices, iv, int64_t{tile.lanes} * bytes(nest_.indices->dtype));
        origin = b_.iadd(origin, b_.imul(iv, b_.iconst(tile.lanes * dim_.stride)));
      }
    }
    low_.store(at, reduce_tile(at, tile), stored_lanes(tile, origin));
    if (tile.count > 1) low_.close(1);
  }

  State reduce_tile(const Cursor& at, const Tile& tile) {
    if (dim_.kernel > unroll_columns) return reduce_long(at, tile);
    const int widest = reducer_.working_bytes();
    if (schedule_.order == Order::rows_first && holds_row(nest_, tile.lanes, widest, b_.isa()))
      return reduce_rows_first(at, tile);
    return reduce_row_major(at, tile);
  }

  State reduce_rows_first(const Cursor& at, const Tile& tile) {
    const StridedLanes plan = plan_taps(nest_, tile.lanes, reducer_.working_bytes());
    reducer_.plan(plan.starts().size(), nest_.full_taps() / dim_.kernel);
    const Lowering::States fresh(plan.starts().size(), reducer_.start(no_offsets(tile)));
    const auto leaf = [&](Lowering::States states, const Address& row, const TapOffset& offset) {
      for (size_t i = 0; i < states.size(); ++i)
        states[i] = reducer_.accumulate(states[i], load(tile, row, plan.starts()[i], 0, reach()), offset);
      return states;
    };
    const Lowering::States rows = low_.reduce(at, outer_, fresh, leaf, unroll_limit());
    std::vector<Value> vectors;
    for (const State& state : rows) vectors.push_back(reducer_.value(state));
    State result;
    plan.extract(b_, vectors, [&](size_t, Value column) { result = reducer_.combine(result, {column}); });
    return result;
  }

  State reduce_row_major(const Cursor& at, const Tile& tile) {
    reducer_.plan(1, nest_.full_taps());
    const Lowering::States fresh = {reducer_.start(first_taps(tile))};
    const int width = bytes(nest_.input.dtype);
    const bool shared = dim_.stride > 1 && tile.lanes > 1 && holds_row(nest_, tile.lanes, width, b_.isa());
    const auto leaf = [&](const Lowering::States& states, const Address& row, const TapOffset& offset) {
      State state = tile.border && states[0].empty() ? fresh[0] : states[0];
      const auto take = [&](size_t tap, Value x) {
        TapOffset here = offset;
        here.constant += static_cast<int64_t>(tap) * dim_.dilation;
        if (!tile.border || any_lane(tile, static_cast<int64_t>(tap)))
          state = reducer_.accumulate(state, x, here);
      };
      if (shared) {
        const StridedLanes plan = plan_taps(nest_, tile.lanes, width);
        std::vector<Value> vectors;
        for (int64_t start : plan.starts()) vectors.push_back(load(tile, row, start, 0, reach()));
        plan.extract(b_, vectors, take);
      } else {
        for (int64_t tap = 0; tap < dim_.kernel; ++tap)
          take(static_cast<size_t>(tap), load_strided(tile, row, tap * dim_.dilation));
      }
      return Lowering::States{state};
    };
    return low_.reduce(at, outer_, fresh, leaf, unroll_limit())[0];
  }

  // Kernels too long for straight-line code: loops over all taps; only for tiles inside the image.
  State reduce_long(Cursor at, const Tile& tile) {
    at.windows.push_back(low_.full_window(outer_));
    reducer_.plan(1, nest_.full_taps());
    const Lowering::States fresh = {reducer_.start(no_offsets(tile))};
    const auto leaf = [&](const Lowering::States& states, const Address& tap, const TapOffset& offset) {
      return Lowering::States{reducer_.accumulate(states[0], load_strided(tile, tap, 0), offset)};
    };
    return low_.reduce(at, outer_ + 1, fresh, leaf, unroll_limit())[0];
  }

  // Border outputs one by one, with the taps that the run table tells.
  void emit_borders(Cursor cursor) {
    int loops = low_.open_runs(cursor, /*task=*/false, Lowering::Runs::borders);
    loops += low_.open_outputs(cursor);
    reducer_.plan(1, nest_.full_taps());
    const Lowering::States fresh = {reducer_.start({0})};
    const auto leaf = [&](const Lowering::States& states, const Address& tap, const TapOffset& offset) {
      const Value x = b_.load(Type::vec(nest_.input.dtype, 1), tap);
      return Lowering::States{reducer_.accumulate(states[0], x, offset)};
    };
    low_.store(cursor, low_.reduce(cursor, outer_ + 1, fresh, leaf, unroll_limit())[0], Lanes::channels(1));
    low_.close(loops);
  }

  // ------------------------------------------------------------------------------------------------ loads
  // Elements start .. start + lanes - 1 from `row`, which stands at the tile's first window, moved by
  // `offset`. Masked off: what lies outside the image, and what lies beyond `reach` from the last stored
  // lane's window.
  Value load(const Tile& tile, const Address& row, int64_t start, int64_t offset, int64_t reach) {
    const Type type = Type::vec(nest_.input.dtype, tile.lanes);
    const Address address = plus(row, (start + offset) * bytes(type.dtype));
    std::vector<int64_t> wanted;
    const int64_t end = (tile.valid - 1) * dim_.stride + reach;
    for (int64_t position = start; position < start + tile.lanes; ++position)
      wanted.push_back(position < end && (!tile.border || in_image(tile, position + offset)));
    if (std::find(wanted.begin(), wanted.end(), 0) == wanted.end()) return b_.load(type, address);
    const Value identity = b_.vconst_splat(type, reducer_.identity());
    if (std::find(wanted.begin(), wanted.end(), 1) == wanted.end()) return identity;
    return b_.load(type, address, b_.vmask(type.mask_of(), wanted), identity);
  }

  // One tap of each lane.
  Value load_strided(const Tile& tile, const Address& row, int64_t offset) {
    const StridedLanes plan(tile.lanes, dim_.stride, {0}, style(bytes(nest_.input.dtype)));
    std::vector<Value> vectors;
    for (int64_t start : plan.starts()) vectors.push_back(load(tile, row, start, offset, 1));
    Value lanes = no_value;
    plan.extract(b_, vectors, [&](size_t, Value value) { lanes = value; });
    return lanes;
  }

  int64_t reach() const { return dim_.extent(); }

  // ------------------------------------------------------------------------------------------------ facts of
  // a tile
  bool in_image(const Tile& tile, int64_t position) const {
    const int64_t input = tile.begin * dim_.stride - dim_.pad_begin + position;
    return input >= 0 && input < dim_.visible_input();
  }

  bool any_lane(const Tile& tile, int64_t tap) const {
    for (int64_t lane = 0; lane < tile.valid; ++lane)
      if (in_image(tile, lane * dim_.stride + tap * dim_.dilation)) return true;
    return false;
  }

  static std::vector<int64_t> no_offsets(const Tile& tile) {
    return std::vector<int64_t>(static_cast<size_t>(tile.lanes), 0);
  }

  std::vector<int64_t> first_taps(const Tile& tile) const {
    std::vector<int64_t> first = no_offsets(tile);
    for (int64_t lane = 0; lane < tile.valid; ++lane)
      first[static_cast<size_t>(lane)] = dim_.window(tile.begin + lane).first_tap * dim_.dilation;
    return first;
  }

  Lanes stored_lanes(const Tile& tile, Value origin) const {
    Lanes lanes = Lanes::channels(tile.lanes);
    lanes.origin = origin;
    lanes.index_step = dim_.stride;
    std::vector<int64_t> empty = no_offsets(tile);
    for (int64_t lane = 0; lane < tile.lanes; ++lane) {
      const size_t i = static_cast<size_t>(lane);
      if (lane >= tile.valid) continue;
      const Window window = dim_.window(tile.begin + lane);
      lanes.divisor_taps[i] = divisor_taps(nest_, window);
      empty[i] = window.taps == 0;
    }
    if (std::find(empty.begin(), empty.end(), 1) != empty.end()) lanes.empty = std::move(empty);
    if (tile.valid < tile.lanes) {
      lanes.stored = no_offsets(tile);
      std::fill_n(lanes.stored.begin(), tile.valid, 1);
    }
    return lanes;
  }

  int64_t unroll_limit() const { return schedule_.taps == Taps::unroll ? unroll_rows : 1; }

  const PoolNest& nest_;
  const Schedule& schedule_;
  const NestDim& dim_;
  const size_t outer_;
  Builder& b_;
  Reducer& reducer_;
  Lowering low_;
  const bool masks_;
};

Result<Program> lower_channels_first(const PoolNest& nest, const Schedule& schedule, Isa isa) {
  Builder builder(print(schedule), isa);
  auto reducer = make_reducer(nest, builder);
  if (!reducer) return tl::unexpected(reducer.error());
  if (!columns_adjacent(nest))
    return unsupported("schedule.strides", "channels_first needs columns that lie next to each other",
                       "use channels_last(lanes=1)");
  if (schedule.order == Order::rows_first) {
    if (!(*reducer)->any_order())
      return unsupported("schedule.order", "indices and zeros=first need the taps in row-major order",
                         "use order=row_major");
    if (!holds_row(nest, schedule.lanes, (*reducer)->working_bytes(), isa))
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
