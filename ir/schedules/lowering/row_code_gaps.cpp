// Rows of a gradient that lie between the windows.
#include "ir/schedules/lowering/row_code.h"
#include "ir/schedules/lowering/tile_lanes.h"

namespace pooljit::ir {

// Stores the result of an empty window to the whole row.
void RowCode::emit_gap(const Cursor& cursor) {
  reducer_.plan(1, nest_.full_taps());
  for (const TileLoop& tiles : rules_.row()) {
    if (tiles.count == 0) continue;
    const Value iv = tiles.count > 1 ? b_.begin_loop(b_.iconst(tiles.count)).iv : no_value;
    for (const Tile& tile : tiles.tiles) {
      const State none = reducer_.start(std::vector<int64_t>(static_cast<size_t>(tile.lanes), 0));
      low_.store(at_tile(cursor, tiles, tile, rules_.taps(tile), iv), none, column_lanes(nest_, tile));
    }
    if (iv != no_value) low_.close(1);
  }
  if (rules_.borders_from_table() && has_borders(dim_)) emit_borders(cursor);
}

}  // namespace pooljit::ir
