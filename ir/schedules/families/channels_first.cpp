// channels_first: a vector holds neighbouring outputs of one row (the innermost dimension) of one channel.
//
// A row is cut into tiles of `lanes` outputs. Inside the image tiles repeat and become one loop; an
// iteration has as many tiles as it takes until their windows repeat (one for ordinary pooling). At the
// borders and at the end a tile has constant masks: lanes outside the image load the identity. If the ISA
// cannot mask, a vector at a border is loaded from inside the row and its lanes are moved to their place
// (tail=overlap), or border outputs are done one by one and the rest of the row in smaller and smaller
// vectors (tail=split). Strided lanes come from contiguous loads and shuffles. If neither columns nor
// channels are contiguous, a row vector is several loads (ir/schedules/lanes/lanes_apart.h).
//
//   - scan=rows_first reduces contiguous vectors over the outer dimensions first, then along the row
//     once per tile. With rows_together=R it does so for R rows of outputs, which share input rows.
//   - scan=tap_by_tap takes every tap in its place, which indices and `zeros=first` need.
//   - scan=rolling walks down a tile's rows and reduces each row once; the windows of neighbouring
//     outputs share it. With vectors_side_by_side=V a tile is V vectors, which share columns.
#include "ir/schedules/lowering/row_family.h"

namespace pooljit::ir {

const FamilyInfo channels_first_family = {
    Family::channels_first, row_lanes, all_tails, suits_rows, check_rows, lower_rows, nullptr};

}  // namespace pooljit::ir
