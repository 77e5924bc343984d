// Schedules of several pools of one tensor: one for each member, and the number of tasks that all members
// share.
#pragma once

#include <vector>

#include "ir/machine.h"
#include "ir/nest.h"
#include "ir/schedule.h"

namespace pooljit::ir {

// The tasks of a nest of several pools. In each task all members pool one piece of the tensor. There are so
// many tasks that the piece and its results stay in the caches next to a core from one member to the next,
// and no more, because each task begins the loops of every member anew. Pieces are channels. Where channels
// are innermost, pieces are rows if the members' numbers of rows have a common divisor, else parts of each
// pixel that are wide enough to read memory well.
MemberTasks member_tasks(const PoolNest& nest);

// The schedules that enumerate_schedules gives for such a nest: the members' offers side by side, and the
// first of them in fewer and in more tasks.
std::vector<Schedule> offer_members(const PoolNest& nest, Isa isa, size_t most, const Machine& machine);

}  // namespace pooljit::ir
