// channels_first: a vector holds neighbouring outputs of one row (the innermost dimension) of one channel.
//
// A row is cut into tiles of `lanes` outputs. Inside the image tiles repeat: one loop, of as many tiles as it
// takes until windows lie alike again (one for ordinary pooling). At the borders and at the end a tile has
// constant masks: lanes outside the image load the identity. Where the ISA cannot mask, a vector at a border
// is loaded from inside the row and its lanes moved to their place (tail=overlap), or border outputs are done
// one by one and the rest of the row in smaller and smaller vectors (tail=split). Lanes that lie apart
// come from contiguous loads and shuffles. Columns may lie apart if channels do too: a row vector is then
// several loads (ir/schedules/lanes/lanes_apart.h).
//
// scan=rows_first reduces the taps of the outer dimensions first, on the contiguous vectors, and the row's
// once per tile; with rows_together=R it does so for R rows of outputs, which share the input rows that they
// have in common. tap_by_tap takes every tap in its place, which indices and `zeros=first` need.
// scan=rolling walks down a tile's rows, reduces each row once and lets the windows of neighbouring outputs
// share that; with vectors_side_by_side=V a tile is V vectors, which share columns.
#include "ir/schedules/lowering/row_family.h"

namespace pooljit::ir {

const FamilyInfo channels_first_family = {
    Family::channels_first, row_lanes, all_tails, suits_rows, check_rows, lower_rows};

}  // namespace pooljit::ir
