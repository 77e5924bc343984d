// Where the words of a size lie that Lowering reads and ir/general/size_words.h makes: for each view its
// strides, for each dimension its runs, of the innermost one how vectors cover a row of its outputs; behind
// these the run tables.
#pragma once

#include <bit>
#include <cstdint>
#include <vector>

#include "ir/nest.h"

namespace pooljit::ir {

class SizeLayout {
 public:
  // The views by number.
  static constexpr int input = 0, output = 1, indices = 2, first_operand = 3;
  // What an index adds per position is `weight`; `carry` is what is added for each time that a tap's offset
  // reaches as far as the next position of the dimension (Lowering::plane_offset).
  // first: position of the first window's first tap, also outside the image; visible: how many positions the
  // image has; padded: the position where its padding ends. Outputs whose windows have a tap inside lie side
  // by side, [seen_begin, seen_end).
  enum DimField {
    runs,
    table,
    weight,
    carry,
    first,
    visible,
    padded,
    outputs,
    seen_begin,
    seen_end,
    roll_begin,
    roll_pairs,
    dim_fields
  };
  // Of the innermost dimension. Outputs that tiles cover where lanes can be masked: [masked_begin,
  // masked_end). Whole windows of the usual divisor are [whole_begin, whole_end) among these.
  enum ColumnField {
    masked_begin,
    masked_end,
    whole_begin,
    whole_end,
    divisors,  // the byte where those of outputs outside the whole windows begin, in order
    column_fields
  };
  // By how many lanes tiles have. Tiles cover the outputs of [masked_begin, masked_end): some that look where
  // their columns lie before those of whole windows, which begin at inside_begin, and some behind, from
  // behind_begin on. last: 1 where one more tile of whole windows ends with the last of these, else 0. run:
  // tiles of whole windows from the first one on.
  enum TileField { before, inside_begin, inside, last, behind_begin, behind, run, tile_fields };
  static constexpr int lane_counts = 7;  // 1, 2, 4 .. 64

  explicit SizeLayout(const PoolNest& nest)
      : rank_(static_cast<int>(nest.dims.size())),
        views_(first_operand + static_cast<int>(operand_views(nest).size())),
        has_columns_(nest.input.strides.back() == 1) {}

  int views() const { return views_; }
  // Rows of neighbouring columns, which vectors may cover.
  bool has_columns() const { return has_columns_; }
  // Strides, in bytes.
  int batch(int view) const { return view * (rank_ + 2); }
  int channel(int view) const { return batch(view) + 1; }
  int position(int view, size_t dim) const { return batch(view) + 2 + static_cast<int>(dim); }
  // table: the byte where the first run's row begins.
  int of_dim(size_t dim, DimField field) const {
    return batch(views_) + static_cast<int>(dim) * dim_fields + field;
  }
  // What an index adds per batch.
  int index_batch() const { return of_dim(static_cast<size_t>(rank_), runs); }
  int column(ColumnField field) const { return index_batch() + 1 + field; }
  int tiles(int lanes, TileField field) const {
    return column(column_fields) + std::countr_zero(static_cast<unsigned>(lanes)) * tile_fields + field;
  }
  int words() const { return has_columns_ ? tiles(1 << lane_counts, before) : column(masked_begin); }

 private:
  int rank_, views_;
  bool has_columns_;
};

// Averages: whether masked tiles count each lane's divisor. Else they have the usual ones, and the outputs
// with others are done one by one.
inline bool counts_lanes(const PoolNest& nest) {
  return nest.dims.back().dilation == 1 && bytes(nest.input.dtype) >= 4;
}

// What a tap's offset counts per position in code for all sizes: the plane of the stand-ins, whose rows are
// powers of two long.
inline std::vector<int64_t> stand_in_weights(const PoolNest& nest) {
  std::vector<int64_t> weights(nest.dims.size(), 1);
  for (size_t i = weights.size() - 1; i-- > 0;) weights[i] = weights[i + 1] * nest.dims[i + 1].input;
  return weights;
}

}  // namespace pooljit::ir
