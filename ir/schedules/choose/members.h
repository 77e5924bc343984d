// Schedules of several pools of one tensor: one for each member, and the number of tasks that all members
// share.
#pragma once

#include <vector>

#include "ir/machine.h"
#include "ir/nest.h"
#include "ir/schedule.h"

namespace pooljit::ir {

// The schedules that enumerate_schedules gives for such a nest: the members' offers side by side, and the
// first of them in fewer and in more tasks.
std::vector<Schedule> offer_members(const PoolNest& nest, Isa isa, size_t most, const Machine& machine);

}  // namespace pooljit::ir
