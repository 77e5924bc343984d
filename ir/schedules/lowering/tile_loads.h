// TileLoads: loads the columns of a tile: contiguous vectors of its row, masked outside the image, and
// shuffles that move a tap's elements to their lanes.
#pragma once

#include <functional>
#include <vector>

#include "ir/schedules/lanes/row_tiles.h"
#include "ir/schedules/lowering/lowering.h"
#include "ir/schedules/lowering/seen_columns.h"

namespace pooljit::ir {

// Columns counted from a tile's origin. Columns from `end` on are not needed.
struct RowVector {
  int64_t start = 0;
  int width = 1;
  int64_t end = 0;
};

class TileLoads {
 public:
  TileLoads(const PoolNest& nest, Builder& builder, const ReductionFacts& facts, Lowering& lowering);

  bool in_image(int64_t position) const { return position >= 0 && position < dim_.visible_input(); }
  // Elements from column to column of a view that is read; of a single column any.
  int64_t column_stride(const View& view) const { return dim_.input == 1 ? 1 : view.strides.back(); }
  // True if some valid lane has the tap inside the image.
  bool any_lane(const Tile& tile, int64_t tap) const;

  // Code for all sizes: for tiles whose windows may reach over the ends of a row. Null: for no tile.
  // seen_indices: of a gradient, the indices of such columns.
  void see(SeenColumns* seen, SeenColumns* seen_indices = nullptr) {
    seen_ = seen;
    seen_indices_ = seen_indices;
  }

  // `row` stands at the tile's origin. Lanes that are not loaded have the reduction's identity.
  Value values(const Tile& tile, const TileTaps& taps, const Address& row, const RowVector& vector);
  Value indices(const Tile& tile, const TileTaps& taps, const Address& row, const RowVector& vector);

  using Load = std::function<Value(const RowVector&)>;
  static std::vector<Value> all(const std::vector<int64_t>& starts, int width, int64_t offset, int64_t end,
                                const Load& load);
  // One tap of each lane: the columns it takes, and how its vector is made.
  struct Tap {
    int64_t first = 0, end = 0;
    PlacedLanes lanes;
    bool is_as_loaded = false;
  };
  Tap plan(const Tile& tile, const TileTaps& taps, size_t tap) const;
  Value tap(const Tap& planned, const Load& load);
  // x in the lanes whose windows have that tap.
  Value where_present(const TileTaps& taps, size_t tap, Value x, Value otherwise);

  // For the backward of an average: the factors of the divisors for columns; 1 outside the image.
  std::vector<int64_t> divisors_from(int64_t position, int width) const;
  std::vector<int64_t> divisors_at(const TileTaps& taps, size_t tap) const;

 private:
  std::vector<int64_t> wanted(const Tile& tile, const TileTaps& taps, const RowVector& vector) const;
  Value moved_inside(const Address& address, const Type& type, int64_t column);
  int64_t divisor_at(int64_t position) const;

  const PoolNest& nest_;
  const NestDim& dim_;  // along the row
  const int64_t ahead_;
  Builder& b_;
  const ReductionFacts& facts_;
  Lowering& low_;
  SeenColumns *seen_ = nullptr, *seen_indices_ = nullptr;
};

}  // namespace pooljit::ir
