// Row segments: pieces of a row (stride 1) that fit into scratch memory, each processed as a row of its
// own.
#pragma once

#include <optional>
#include <vector>

#include "ir/reductions/reducer.h"
#include "ir/schedules/families/row_passes_rules.h"
#include "ir/schedules/lanes/row_tiles.h"
#include "ir/schedules/windows/column_passes.h"
#include "ir/schedules/windows/stretch.h"
#include "ir/schedules/windows/trailing_windows.h"

namespace pooljit::ir {

struct RowSegment {
  // nest: the segment's outputs, and the columns that they read.
  RowSegment(PoolNest nest, const RowPassesSchedule& schedule, const ReductionFacts& facts);
  void go_on(int64_t shared);

  PoolNest nest;
  Stretch columns;  // of the nest's row
  std::vector<TileLoop> tiles;
  // How windows come from columns: by passes, or scan=trailing.
  ColumnPasses passes;
  std::optional<TrailingWindows> trailing;
  // A line in scratch memory: positions before the first column, all positions that are read, and the
  // distance from line to line.
  int64_t before, positions, pitch;
  // Where the segment begins in the whole row, and how many like it follow each other.
  int64_t output = 0, input = 0, count = 1;
  // scan=trailing: its windows continue those of the segment before, and hold the columns that both share.
  bool goes_on = false;
};

// Cuts a row: the whole row, or as much of it as scratch memory holds for all rows together (scan=trailing:
// as stays in L1). None if that is not worth it.
std::vector<RowSegment> cut_segments(const PoolNest& rows, const RowPassesSchedule& schedule,
                                     const ReductionFacts& facts);

// The end of the outputs that the tiles of a row reach, including those not stored with them.
int64_t end_of(const std::vector<TileLoop>& tiles);

// True if the straight-line code of a row is within its bounds.
bool are_short(const std::vector<RowSegment>& segments);

// True if each segment's columns fill whole vectors.
bool hold_vectors(const std::vector<RowSegment>& segments, const RowPassesSchedule& schedule);

// True if the outputs of each segment come from one whole vector after the other, none of them from two.
bool follow_each_other(const std::vector<RowSegment>& segments, const RowPassesSchedule& schedule);

}  // namespace pooljit::ir
