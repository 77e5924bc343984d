// RowCode: the code of channels_first and interleaved for the rows of outputs of one batch and channel.
#pragma once

#include "ir/schedules/lowering/lowering.h"
#include "ir/schedules/lowering/roll_any_size.h"
#include "ir/schedules/lowering/row_rules.h"
#include "ir/schedules/lowering/tile_loads.h"
#include "ir/schedules/windows/held_vectors.h"
#include "ir/schedules/windows/scan.h"

namespace pooljit::ir {

class RowCode {
 public:
  // staging: whose nest it is, if results are staged.
  RowCode(const PoolNest& nest, const RowSchedule& schedule, const RowRules& rules, Builder& builder,
          Reducer& reducer, const Staging* staging);
  // Emits the whole Program.
  void emit();

 private:
  void emit_any_size();
  void emit_row(const Cursor& cursor, bool group);
  void emit_loops(const Cursor& cursor, const std::vector<TileLoop>& loops, bool group);
  void stage_row(const Cursor& cursor, bool group);
  void stage_piece(const Cursor& cursor, const RowPiece& piece, bool group);
  State reduce_alike(const Cursor& cursor, const Lanes& lanes);
  void emit_gap(const Cursor& cursor);
  void emit_tiles(const Cursor& cursor, const TileLoop& tiles, bool group);
  void emit_borders(Cursor cursor);

  Cursor at_tile(const Cursor& cursor, const TileLoop& tiles, const Tile& tile, const TileTaps& taps,
                 Value iv) const;
  int64_t slide(const Cursor& cursor, const TileLoop& tiles);

  // Code for one tile.
  void group(const Cursor& cursor, const Tile& tile, const TileTaps& taps, const Lanes& lanes);
  void roll(const Cursor& cursor, const Tile& tile, const TileTaps& taps, const std::vector<Lanes>& vectors);
  // How windows are made from rows; `nothing` stands for a row outside the image.
  struct Rolling {
    Value nothing;
    Join join;
    std::function<State(Value)> state_of;
  };
  void roll_rows(const Cursor& cursor, const std::vector<Lanes>& vectors, const Rolling& how,
                 const LoadBundle& load);
  void roll_by_scratch(const Cursor& cursor, const std::vector<Lanes>& vectors, const Rolling& how,
                       const LoadBundle& load);
  void run_rows(const Cursor& cursor, const Lanes& vector, const Rolling& how, const LoadBundle& load);
  void store_rows(Cursor at, const std::vector<Lanes>& vectors, const Rolling& how, const Bundle& windows);
  void move_outputs(Cursor& cursor, int64_t columns);
  std::vector<Lanes> vectors_of(const Tile& tile) const;
  State reduce_tile(const Cursor& cursor, const Tile& tile, const TileTaps& taps);
  State reduce_rows_first(const Cursor& cursor, const Tile& tile, const TileTaps& taps);
  std::vector<Value> reduce_columns(const Cursor& at, const Tile& tile, const TileTaps& taps,
                                    const RowReduction& plan, size_t dims);
  State reduce_row_major(const Cursor& cursor, const Tile& tile, const TileTaps& taps, size_t dims);
  State reduce_long(Cursor cursor, const Tile& tile, const TileTaps& taps);
  void store_group(const Cursor& cursor, const RowReduction& plan, const Values& columns, const Lanes& lanes);
  Values reduce_group_columns(const Cursor& cursor, const RowReduction& plan, const Tile& tile,
                              const TileTaps& taps, const RowVector& vector);

  // The lanes of a tile that are stored, and where.
  Lanes stored_lanes(const Tile& tile, const TileTaps& taps, Value iv, const TileLoop& loop);
  void place_indices(Lanes& lanes, const Tile& tile, const TileTaps& taps, Value iv, const TileLoop& loop);
  std::vector<int64_t> first_offsets(const Tile& tile, const TileTaps& taps) const;

  // Code for all sizes: the words that it reads, before any loop.
  struct ColumnsOfSize {
    Value masked_begin, masked_end, whole_begin, whole_end, stored_end;
  };
  // How a tile takes columns outside the image. narrow: masked, and its outputs are all of a row.
  enum class Border : uint8_t { none, masked, single, narrow };
  void read_size();
  Value tiles(int lanes, SizeLayout::TileField field);
  template <typename Code>
  void emit_if(Value is_wanted, const Code& code) {
    b_.begin_loop(is_wanted);
    code();
    b_.end_loop();
  }
  void emit_masked(const Cursor& cursor);
  void emit_inside(const Cursor& cursor);
  void emit_single(const Cursor& cursor, Value begin, Value end);
  void emit_outside(Cursor cursor);
  void emit_one_by_one(Cursor cursor);
  void emit_stretches(Cursor cursor);
  void emit_stretch(const Cursor& cursor, Value row);
  void emit_alike(Cursor cursor, int lanes, Value output, Value valid);
  // Tiles of a row: `count` of them one after the other, then `last` more (0 or 1), which begin `further`
  // outputs after the first.
  struct TilesBeside {
    Value count = no_value;  // no_value: one
    Value last = no_value, further = no_value;
  };
  void emit_whole(const Cursor& cursor, int lanes, Value first, Value count, Value last);
  void emit_tile(const Cursor& cursor, int lanes, Value place, Border border, const TilesBeside& beside);
  using Walk = std::function<void(const Cursor& at, const TileTaps& taps, const Lanes& lanes)>;
  void emit_column(const Cursor& cursor, const Tile& tile, Value place, Border border, const Walk& walk);
  void place_in_row(Lanes& lanes, const TileTaps& taps, Value column);
  void count_taps(Lanes& lanes, Value output, Value column);
  Value lane_counts(int lanes, Value column);
  bool masks_are_free() const;
  bool takes_vectors(const Tile& tile) const;
  std::vector<SeenColumns::Vector> loaded_of(const Tile& tile, const TileTaps& taps);
  bool hold(SeenColumns& seen, const Tile& tile, const TileTaps& taps);
  void hold_indices(std::optional<SeenColumns>& seen, const Tile& tile, const TileTaps& taps, Value column);
  void walk_rows(Cursor cursor, const Tile& tile, const TileTaps& taps, const Lanes& lanes,
                 const TilesBeside& beside);
  void for_rows_of_run(Cursor at, const std::function<void(const Cursor&)>& body);
  Cursor with_index_of_rows(Cursor cursor);
  void emit_row_of_tiles(const Cursor& row, const Tile& tile, const TileTaps& taps, const Lanes& lanes,
                         const TilesBeside& beside);
  // Narrow rows. whole: how many rows of outputs of a call have usual windows, `before` of its others come
  // first; whole_input, whole_outputs: from a plane to the first of these, in each view, in bytes.
  struct RowsOfCall {
    Value begin, before, whole, others, whole_input;
    std::vector<Value> whole_outputs;
  };
  void emit_narrow(const Cursor& cursor);
  RowsOfCall read_rows(Cursor cursor);
  void emit_whole_rows(Cursor plane, const RowsOfCall& of, const std::function<void(const Cursor&)>& emit);
  void emit_other_rows(const Cursor& plane, const RowsOfCall& of,
                       const std::function<void(const Cursor&)>& emit);
  // The reduction of the row where the cursor stands.
  using LoadRow = std::function<Bundle(const Cursor& at)>;
  void roll_down(const Cursor& cursor, const Lanes& lanes, const Rolling& how, const LoadRow& load);

  size_t rows() const { return outer_ - 1; }  // the dimension that rows follow each other along

  const PoolNest& nest_;
  const RowSchedule schedule_;
  const RowRules& rules_;
  const NestDim& dim_;  // along the row
  const size_t outer_;
  Builder& b_;
  Reducer& reducer_;
  Lowering low_;
  TileLoads loads_;
  const bool backward_;
  const Staging* const staging_;
  int64_t repeated_ = 0;  // input positions from the present piece of a row to its last repetition
  // How the taps of a row are loaded one by one: from vectors that all taps share, or from vectors of their
  // own.
  struct TapPlans {
    std::optional<PlacedLanes> together;
    std::vector<TileLoads::Tap> apart;
  };
  const TapPlans& tap_plans(const Tile& tile, const TileTaps& taps);
  std::optional<TapPlans> tap_plans_;    // of the present tile, once asked for
  std::optional<Address> plane_, ends_;  // scratch memory for the rows of a tile of several vectors
  static constexpr size_t usual_masks = 2 * RowRules::unroll_columns;
  std::optional<Address> masks_;  // of all sizes: scratch memory for those of a tile
  size_t masks_held_ = 0;         // for so many
  std::vector<DimOfSize> sizes_;
  ColumnsOfSize columns_ = {};
  Value first_seen_ = no_value;  // of all sizes: the offset of the first tap inside the image
  Value own_ = no_value;         // backward of a maximum: the indices that the tile's lanes look for
};

}  // namespace pooljit::ir
