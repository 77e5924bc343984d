// Row tiles: how a row of outputs is cut into vectors of neighbours, and where the taps of each lane are.
// Repeated tiles become a loop: tiles inside the image, and those in which a border clips several windows
// alike.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "ir/nest.h"
#include "ir/schedule.h"
#include "ir/schedules/lanes/placed_lanes.h"

namespace pooljit::ir {

// Outputs done as one vector.
struct Tile {
  int64_t begin = 0;
  int lanes = 1;
  int64_t valid = 1;    // lanes that are stored: the first ones
  bool border = false;  // some tap of some valid lane lies outside the image
  bool operator==(const Tile&) const = default;
};

// Neighbouring tiles, repeated `count` times. Each repetition begins `outputs` outputs further on, and its
// windows `inputs` positions further on.
struct TileLoop {
  std::vector<Tile> tiles;
  int64_t count = 1;
  int64_t outputs = 0, inputs = 0;
};

// Tiles of code for all sizes may begin at any place of a row: at any output, or, of a gradient, whose
// windows repeat after `stride` outputs, at any period of these, counted from the padding's begin on. A tile
// has whole pixels, if windows move by several.
inline int64_t outputs_per_place(const NestDim& row) { return row.kind == DimKind::gather ? row.stride : 1; }
inline int64_t positions_per_place(const NestDim& row) {
  return row.kind == DimKind::gather ? 1 : row.stride / row.pixel;
}
inline int64_t places_of_tile(const NestDim& row, int lanes) {
  return lanes / row.pixel * row.pixel / outputs_per_place(row);
}
inline int64_t outputs_of_tile(const NestDim& row, int lanes) {
  return places_of_tile(row, lanes) * outputs_per_place(row);
}

// Of a gradient's row: its windows as they are from the padding's begin on, which are the same at all sizes.
inline NestDim one_period(const NestDim& row) {
  NestDim period = row;
  period.pad_begin = period.pad_end = 0;
  period.output = std::max(row.output, row.stride);
  return period;
}

struct RowCut {
  int lanes = 1;
  Interior inside;  // outputs that may be loops: whole windows, of one divisor
  Tail tail = Tail::mask;
  bool masks = true;  // lanes outside the image can be masked off; else border outputs are done one by one
  bool skip_border = false;  // border outputs are done elsewhere: cover only windows inside the image
};
// Rows are cut into at most this many tiles: no code can have more.
inline constexpr size_t most_cut_tiles = 1024;
std::vector<TileLoop> cut_row(const NestDim& dim, const RowCut& cut);

// Neighbouring loops of a row, repeated `count` times as a TileLoop's tiles are. `first`, `columns`: the
// outputs that the first repetition stores.
struct RowPiece {
  std::vector<TileLoop> loops;
  int64_t first = 0, columns = 0;
  int64_t count = 1;
  int64_t outputs = 0, inputs = 0;
};
// A row in pieces of at most so many outputs, but for single tiles that have more.
std::vector<RowPiece> pieces_of(const std::vector<TileLoop>& row, int64_t most);
// The rest of a loop after so many repetitions.
TileLoop behind(TileLoop loop, int64_t repetitions);

// How many tiles the code of a row has.
size_t tile_count(const std::vector<TileLoop>& row);

// Where the taps of a tile's lanes are. Positions are relative to `origin`.
struct TileTaps {
  int64_t origin = 0;                         // input position, of the loop's first iteration
  std::vector<Window> windows;                // per valid lane, as if the image had no end; `first` absolute
  std::vector<PlacedLanes::List> lists;       // per tap, of the first `most_lists`
  std::vector<std::vector<int64_t>> present;  // per tap, 0/1 per lane; empty: all lanes that count have it
  int64_t end = 0;                            // positions from here on are no valid lane's
};
// most_lists: code that loops over the taps uses the first list only.
TileTaps tile_taps(const NestDim& dim, const Tile& tile, int64_t most_lists);

}  // namespace pooljit::ir
