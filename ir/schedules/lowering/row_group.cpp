// RowCode: groups of rows of outputs (scan=rows_first, rows_together > 1).
#include <algorithm>

#include "ir/schedules/lowering/row_code.h"
#include "ir/schedules/windows/shared_rows.h"

namespace pooljit::ir {

// All rows of a group: input rows that several windows have in common are reduced once.
void RowCode::group(const Cursor& cursor, const Tile& tile, const TileTaps& taps, const Lanes& lanes) {
  const auto number_of_rows = static_cast<size_t>(schedule_.rows_together);
  if (!rules_.holds_group(tile)) {
    for (size_t row = 0; row < number_of_rows; ++row) {
      const Cursor at = low_.further(cursor, rows(), static_cast<int64_t>(row));
      low_.store(at, reduce_tile(at, tile, taps), lanes);
    }
    return;
  }
  const RowReduction& plan = rules_.reduction(tile);
  Values columns;
  for (const int64_t start : plan.starts()) {
    const Values more = reduce_group_columns(cursor, plan, tile, taps, {start, plan.width(), taps.end});
    columns.insert(columns.end(), more.begin(), more.end());
  }
  store_group(cursor, plan, columns, lanes);
}

// columns: all rows of the first place, then of the next.
void RowCode::store_group(const Cursor& cursor, const RowReduction& plan, const Values& columns,
                          const Lanes& lanes) {
  const auto number_of_rows = static_cast<size_t>(schedule_.rows_together);
  reducer_.plan(1, dim_.most_taps());
  for (size_t row = 0; row < number_of_rows; ++row) {
    std::vector<Value> own;
    for (size_t i = row; i < columns.size(); i += number_of_rows) own.push_back(columns[i]);
    const State result = plan.reduce(b_, reducer_, own, [](size_t, Value x) { return x; });
    low_.store(low_.further(cursor, rows(), static_cast<int64_t>(row)), result, lanes);
  }
}

// One vector of columns for each row of a group.
Values RowCode::reduce_group_columns(const Cursor& cursor, const RowReduction& plan, const Tile& tile,
                                     const TileTaps& taps, const RowVector& vector) {
  const NestDim& down = nest_.dims[rows()];
  const auto leaf = [&](const Lowering::States& states, const TapAt& row) {
    return Lowering::States{
        reducer_.accumulate(states[0], loads_.values(tile, taps, row.input, vector), row.offset)};
  };
  const auto reduce = [&](int64_t first, int64_t count) {
    reducer_.plan(1, count * nest_.full_taps() / down.kernel / dim_.most_taps());
    const Cursor at = low_.taps_from(cursor, rows(), first, count);
    return plan.column(
        reducer_, low_.reduce(at, outer_, low_.no_taps(1, vector.width), leaf, rules_.unroll_limit())[0]);
  };
  return shared_rows(down, schedule_.rows_together, reduce,
                     [&](Value earlier, Value later) { return plan.join(reducer_, earlier, later); });
}

// A group's vectors of columns move on from tile to tile, so that each is reduced once. Returns how many
// tiles that served: not the last ones, whose last vector would stretch past the image.
int64_t RowCode::slide(const Cursor& cursor, const TileLoop& tiles) {
  if (tiles.tiles.size() != 1 || tiles.count < 2 || tiles.inputs == 0) return 0;
  const Tile& tile = tiles.tiles[0];
  const TileTaps& taps = rules_.taps(tile);
  if (!rules_.holds_group(tile)) return 0;
  const RowReduction& plan = rules_.reduction(tile);
  const auto positions = static_cast<int64_t>(plan.starts().size());
  if (!plan.slides() || positions < 2) return 0;
  const int64_t room = dim_.visible_input() - taps.origin - repeated_ - positions * tile.lanes;
  const int64_t count = std::min(tiles.count, room < 0 ? 0 : room / tile.lanes + 1);
  if (count < 2) return 0;

  const auto vector = [&](int64_t number) {
    const int64_t start = plan.starts()[static_cast<size_t>(number)];
    return RowVector{start, tile.lanes, start + tile.lanes};
  };
  Values held;  // all rows of the first place, then of the next
  for (int64_t position = 0; position + 1 < positions; ++position) {
    const Cursor first = at_tile(cursor, tiles, tile, taps, no_value);
    const Values column = reduce_group_columns(first, plan, tile, taps, vector(position));
    held.insert(held.end(), column.begin(), column.end());
  }
  const Builder::Loop loop = b_.begin_loop(b_.iconst(count), held);
  const Cursor here = at_tile(cursor, tiles, tile, taps, loop.iv);
  Values columns = loop.carried;
  const Values fresh = reduce_group_columns(here, plan, tile, taps, vector(positions - 1));
  columns.insert(columns.end(), fresh.begin(), fresh.end());
  store_group(here, plan, columns, stored_lanes(tile, taps, loop.iv, tiles));
  b_.end_loop({columns.begin() + schedule_.rows_together, columns.end()});
  return count;
}

}  // namespace pooljit::ir
