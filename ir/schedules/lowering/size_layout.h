// SizeLayout: the positions of the words of a size. Lowering reads the words, ir/general/size_words.h
// makes them: strides for each view, runs for each dimension, and, for the innermost dimension, how
// vectors cover a row of outputs. The run tables come last. Layers of few channels have words for their
// rows of pixels before these: those of the same windows over one channel
// (ir/schedules/lanes/pixel_rows.h).
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <vector>

#include "ir/nest.h"
#include "ir/schedules/lanes/pixel_rows.h"
#include "ir/schedules/lowering/pieces.h"

namespace pooljit::ir {

class SizeLayout {
 public:
  // Numbers of the views.
  static constexpr int input = 0, output = 1, indices = 2, first_operand = 3;
  // weight: what an index adds for each position. carry: what is added for each time that a tap's offset
  // reaches as far as the next position of the dimension (Lowering::plane_offset). first: position of the
  // first window's first tap, also outside the image. visible: how many positions the image has. padded: the
  // position where its padding ends, of a gradient the forward's. outputs: also of a gather, whose periods it
  // counts. Outputs whose windows have a tap inside are neighbours: [seen_begin, seen_end). output_pairs:
  // half of the outputs. output_blocks: so many blocks of as many outputs as the kernel has taps, the last
  // perhaps shorter. usual_begin, usual_end: outputs of whole windows with the usual divisor. gathered: the
  // byte where the divisors of the forward's windows begin (counts_gathered()).
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
    output_pairs,
    output_blocks,
    usual_begin,
    usual_end,
    gathered,
    dim_fields
  };
  // The innermost dimension, in places of tiles (ir/schedules/lanes/row_tiles.h). [masked_begin, masked_end):
  // what tiles cover if lanes can be masked. [whole_begin, whole_end): whole windows with the usual divisor,
  // among these; of a gradient, those that take only such. stored_end: the output where masked tiles end.
  enum ColumnField {
    masked_begin,
    masked_end,
    whole_begin,
    whole_end,
    stored_end,
    stretches,  // of the gradient of windows that follow the extents: how many runs of outputs have the same
                // windows; `outside` has these
    outside,  // the byte where words for the outputs outside the whole windows begin: their divisors, or runs
              // of one output each
    column_fields
  };
  // For each number of lanes of a tile. Tiles cover the outputs of [masked_begin, masked_end). Some,
  // `before`, look where their columns are; then come those of whole windows, from inside_begin on; then
  // `behind` tiles from behind_begin on. last: 1 if one more tile of whole windows ends where these end, else
  // 0. run: tiles of whole windows from the first one on. one_vector, two_vectors: 1 if all columns of a row
  // are in one vector, or in two (ir/schedules/lowering/narrow_rows.h), else 0. row_parts:
  // PlaneLines::parts(). window_rows: of windows that follow the extents, the byte where a row of
  // RowVectorField begins for each output along the innermost dimension, and one for a whole row of the
  // image; of a gradient, for each of the stretches.
  enum TileField {
    before,
    inside_begin,
    inside,
    last,
    behind_begin,
    behind,
    run,
    one_vector,
    two_vectors,
    row_parts,
    window_rows,
    tile_fields
  };
  // Of pieces of at most each of piece_lengths, along each of the two innermost dimensions of windows that
  // have them: how many there are, the outputs of each but the last, and in how many blocks of as many
  // outputs as the window has taps each of these is, and the last one.
  enum PieceField { piece_count, piece_outputs, piece_blocks, last_blocks, piece_fields };
  // How vectors of so many lanes cover a row of a window: groups of whole vectors, other whole vectors, and
  // the taps that are left.
  enum RowVectorField { groups, singles, rest, row_vector_fields };
  static constexpr int vectors_of_group = 4;
  // Of a row of the image, where rows of windows that follow the extents go through scratch memory.
  static constexpr int64_t most_line_columns = 2048;
  static constexpr int lane_counts = 7;  // 1, 2, 4 .. 64

  // nest: of any size.
  explicit SizeLayout(const PoolNest& nest)
      : rank_(static_cast<int>(nest.dims.size())),
        views_(first_operand + static_cast<int>(operand_views(nest).size())),
        has_columns_(nest.input.strides.back() == 1),
        has_pieces_(!has_columns_ && rank_ > 1 && ir::has_pieces(nest.dims.back()) &&
                    ir::has_pieces(*(nest.dims.end() - 2))),
        begin_(has_pixel_rows_of_any_size(nest) ? SizeLayout(as_one_channel(nest)).words() : 0) {}

  int views() const { return views_; }
  // True for rows of neighbouring columns, which vectors may cover.
  bool has_columns() const { return has_columns_; }
  // Strides, in bytes.
  int batch(int view) const { return begin_ + view * (rank_ + 2); }
  int channel(int view) const { return batch(view) + 1; }
  int position(int view, size_t dim) const { return batch(view) + 2 + static_cast<int>(dim); }
  // table: the byte where the first run's row begins.
  int of_dim(size_t dim, DimField field) const {
    return batch(views_) + static_cast<int>(dim) * dim_fields + field;
  }
  // The step of an index from batch to batch.
  int index_batch() const { return of_dim(static_cast<size_t>(rank_), runs); }
  // ... and for each channel.
  int index_channel() const { return index_batch() + 1; }
  int column(ColumnField field) const { return index_channel() + 1 + field; }
  int tiles(int lanes, TileField field) const {
    return column(column_fields) + std::countr_zero(static_cast<unsigned>(lanes)) * tile_fields + field;
  }
  // True for channels that lie next to each other, and windows that may be done in pieces.
  bool has_pieces() const { return has_pieces_; }
  int pieces(size_t dim, int64_t length, PieceField field) const {
    const auto number = std::ranges::find(piece_lengths, length) - piece_lengths.begin();
    return pieces_begin() +
           (static_cast<int>(number) * 2 + rank_ - 1 - static_cast<int>(dim)) * piece_fields + field;
  }
  // All, but for the tables.
  int words() const {
    if (has_columns_) return tiles(1 << lane_counts, before);
    return pieces_begin() + (has_pieces_ ? static_cast<int>(piece_lengths.size()) * 2 * piece_fields : 0);
  }

 private:
  int pieces_begin() const { return column(masked_begin); }

  int rank_, views_;
  bool has_columns_, has_pieces_;
  int begin_;  // its first word
};

// For averages: true if masked tiles count each lane's divisor. Else masked tiles have the usual divisor, and
// outputs with other divisors are done one by one.
inline bool counts_lanes(const PoolNest& nest) { return bytes(nest.input.dtype) >= 4; }

// True for gradients of averages whose windows may have unlike divisors.
inline bool counts_gathered(const PoolNest& nest) { return nest.is_backward() && nest.divides_by_taps(); }

// The taps of windows with straight-line code, by the stand-in of their dimension.
inline int64_t usual_taps_of_any_size(const NestDim& stand_in) {
  return stand_in.kind == DimKind::gather ? usual_taps(stand_in, runs(stand_in)) : stand_in.kernel;
}

// True if indices count in a plane, or in a window, whose extents are not known.
inline bool count_in_stand_ins(const PoolNest& nest) {
  return nest.extents == Extents::any_windows ||
         (nest.extents == Extents::any && nest.index_scope != IndexScope::window);
}

// What a tap's offset adds for each position in code for all sizes: that of the plane of the stand-ins, whose
// rows are powers of two long.
inline std::vector<int64_t> stand_in_weights(const PoolNest& nest) {
  std::vector<int64_t> weights(nest.dims.size(), 1);
  for (size_t i = weights.size() - 1; i-- > 0;) weights[i] = weights[i + 1] * nest.dims[i + 1].input;
  return weights;
}

}  // namespace pooljit::ir
