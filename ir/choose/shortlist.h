// The shortlist of a layer: a few legal schedules, the most promising kinds first, to be counted or measured.
// Found without lowering, by the families' checks. It knows of the layer only which schedules are legal and
// whether its channels are adjacent. The order of the kinds is a table made from measurements, one order for
// each instruction set and way to lie (ir/choose/shortlist.def). Where straight-line code is not legal it has
// the same in loops.
#pragma once

#include <cstddef>
#include <vector>

#include "ir/schedule.h"

namespace pooljit::ir {

// At most `most` schedules, none twice. Where the table has few, kinds that it does not have follow, the
// plainest first. The registers may not suffice for all; empty for a nest with members.
std::vector<Schedule> shortlist(const PoolNest& nest, Isa isa, size_t most);
// The same without vectors of elements that lie apart, which shortlist() has where there are no others.
std::vector<Schedule> shortlist_of_neighbours(const PoolNest& nest, Isa isa, size_t most);

}  // namespace pooljit::ir
