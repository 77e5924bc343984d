// The schedules that a layer could have.
#pragma once

#include <span>
#include <vector>

#include "ir/isa.h"
#include "ir/nest.h"
#include "ir/schedule.h"

namespace pooljit::ir {

// Every combination of what the fields of each family's schedules may be for the nest; lower() refuses those
// that do not suit. It has what enumerate_schedules gives, but for streamed stores: whether these pay is no
// question of the kernel alone.
std::vector<Schedule> schedule_space(const PoolNest& nest, Isa isa);

// Those of the space that keep the rules of their families (check(), ir/schedules/family.h), which is asked
// without lowering them. For some the registers may not suffice, and several may make one Program. Of several
// pools those of the members side by side, not fused.
std::vector<Schedule> legal_schedules(const PoolNest& nest, Isa isa);

// Of several pools: the first of each member, then the second of each; a member that has no more keeps its
// first.
std::vector<Schedule> side_by_side(std::span<const std::vector<Schedule>> of_members, size_t most);

}  // namespace pooljit::ir
