// RowCode: rows of outputs that are done together (order=rows_first, unroll=R).
#include <algorithm>

#include "ir/schedules/row_code.h"

namespace pooljit::ir {

// All rows of a group: input rows that several windows have in common are reduced once.
void RowCode::group(const Cursor& cursor, const Tile& tile, const TileTaps& taps, const Lanes& lanes) {
  const auto number_of_rows = static_cast<size_t>(schedule_.unroll);
  if (!rules_.holds_group(tile, taps)) {
    for (size_t row = 0; row < number_of_rows; ++row) {
      const Cursor at = low_.further(cursor, rows(), static_cast<int64_t>(row));
      low_.store(at, reduce_tile(at, tile, taps), lanes);
    }
    return;
  }
  const RowReduction plan = rules_.reduction(tile, taps);
  Values columns;
  for (const int64_t start : plan.starts()) {
    const std::vector<Value> more =
        reduce_group_columns(cursor, plan, tile, taps, {start, plan.width(), taps.end});
    columns.insert(columns.end(), more.begin(), more.end());
  }
  store_group(cursor, plan, columns, lanes);
}

// columns: all rows of the first place, then of the next.
void RowCode::store_group(const Cursor& cursor, const RowReduction& plan, const Values& columns,
                          const Lanes& lanes) {
  const auto number_of_rows = static_cast<size_t>(schedule_.unroll);
  reducer_.plan(1, dim_.most_taps());
  for (size_t row = 0; row < number_of_rows; ++row) {
    std::vector<Value> own;
    for (size_t i = row; i < columns.size(); i += number_of_rows) own.push_back(columns[i]);
    const State result = plan.reduce(b_, reducer_, own, [](size_t, Value x) { return x; });
    low_.store(low_.further(cursor, rows(), static_cast<int64_t>(row)), result, lanes);
  }
}

// One vector of columns for each row of a group. What all windows have in common grows downwards row by row;
// what lies above it is added upwards, from the last row of the group to the first.
std::vector<Value> RowCode::reduce_group_columns(const Cursor& cursor, const RowReduction& plan,
                                                 const Tile& tile, const TileTaps& taps,
                                                 const RowPart& part) {
  const NestDim& down = nest_.dims[rows()];
  const int64_t last = schedule_.unroll - 1, shared = down.kernel - last * down.stride;
  const auto leaf = [&](const Lowering::States& states, const TapAt& row) {
    return Lowering::States{
        reducer_.accumulate(states[0], loads_.values(tile, taps, row.input, part), row.offset)};
  };
  const auto rows_from = [&](int64_t first, int64_t count) {
    Cursor at = cursor;
    at.input = plus(at.input, byte_stride(nest_.input, nest_.input.strides[rows()] * first));
    at.windows[rows()].taps = b_.iconst(count);
    reducer_.plan(1, count * nest_.full_taps() / down.kernel / dim_.most_taps());
    const State nothing = reducer_.start(std::vector<int64_t>(static_cast<size_t>(part.width), 0));
    return plan.column(reducer_, low_.reduce(at, outer_, {nothing}, leaf, unroll_limit())[0]);
  };
  const auto join = [&](Value earlier, Value later) { return plan.join(reducer_, earlier, later); };
  Value below = rows_from(last * down.stride, shared);
  std::vector<Value> above(static_cast<size_t>(last), no_value);
  for (int64_t row = last - 1; row >= 0; --row) {
    const Value own = rows_from(row * down.stride, down.stride);
    above[static_cast<size_t>(row)] = row == last - 1 ? own : join(own, above[static_cast<size_t>(row + 1)]);
  }
  std::vector<Value> result;
  for (int64_t row = 0; row <= last; ++row) {
    result.push_back(row == last ? below : join(above[static_cast<size_t>(row)], below));
    if (row < last) below = join(below, rows_from(down.kernel + row * down.stride, down.stride));
  }
  return result;
}

// A group's vectors of columns move on from tile to tile, so that each is reduced once. Returns how many
// tiles that served: not the last ones, whose last vector would stretch past the image.
int64_t RowCode::slide(const Cursor& cursor, const TileLoop& tiles) {
  if (tiles.tiles.size() != 1 || tiles.count < 2) return 0;
  const Tile& tile = tiles.tiles[0];
  const TileTaps taps = tile_taps(dim_, tile);
  if (!rules_.holds_group(tile, taps)) return 0;
  const RowReduction plan = rules_.reduction(tile, taps);
  const auto places = static_cast<int64_t>(plan.starts().size());
  if (!plan.slides() || places < 2) return 0;
  const int64_t room = dim_.visible_input() - taps.origin - places * tile.lanes;
  const int64_t count = std::min(tiles.count, room < 0 ? 0 : room / tile.lanes + 1);
  if (count < 2) return 0;

  const auto part = [&](int64_t place) {
    const int64_t start = plan.starts()[static_cast<size_t>(place)];
    return RowPart{start, tile.lanes, start + tile.lanes};
  };
  Values held;  // all rows of the first place, then of the next
  for (int64_t place = 0; place + 1 < places; ++place) {
    const Cursor first = at_tile(cursor, tiles, tile, taps, no_value);
    const std::vector<Value> column = reduce_group_columns(first, plan, tile, taps, part(place));
    held.insert(held.end(), column.begin(), column.end());
  }
  const Builder::Loop loop = b_.begin_loop(b_.iconst(count), held);
  const Cursor here = at_tile(cursor, tiles, tile, taps, loop.iv);
  Values columns = loop.carried;
  const std::vector<Value> fresh = reduce_group_columns(here, plan, tile, taps, part(places - 1));
  columns.insert(columns.end(), fresh.begin(), fresh.end());
  store_group(here, plan, columns, stored_lanes(tile, taps, loop.iv, tiles));
  b_.end_loop({columns.begin() + schedule_.unroll, columns.end()});
  return count;
}

}  // namespace pooljit::ir
