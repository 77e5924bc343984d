// Schedules of several pools of one tensor: which of each member, and in how many tasks all of them are done.
#pragma once

#include <vector>

#include "ir/machine.h"
#include "ir/nest.h"
#include "ir/schedule.h"

namespace pooljit::ir {

// Tasks, in each of which a piece of the tensor is pooled by all members: so many that the piece and what is
// made of it stay in the caches next to a core from one member to the next; no more, as each begins the loops
// of every member anew. Pieces are channels; where these are innermost, rows, if the members' have a number
// in common, or else no narrower a part of each pixel than memory is read well by.
MemberTasks member_tasks(const PoolNest& nest, const Machine& machine);

// What enumerate_schedules gives for such a nest: the members' offers side by side, and the first of them in
// fewer and in more tasks.
std::vector<Schedule> offer_members(const PoolNest& nest, Isa isa, size_t most, const Machine& machine);

}  // namespace pooljit::ir
