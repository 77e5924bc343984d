// The space of schedules of a layer, legal ones and others. Which of them is good is decided in
// ir/schedules/choose/.
#pragma once

#include <functional>
#include <vector>

#include "ir/isa.h"
#include "ir/nest.h"
#include "ir/schedule.h"

namespace pooljit::ir {

// Every combination of the values that each family allows its fields for the nest. lower() refuses those that
// do not suit. It contains all that enumerate_schedules gives except streamed stores: whether these pay
// depends on more than the kernel.
std::vector<Schedule> schedule_space(const PoolNest& nest, Isa isa);

// The schedules of the space that keep the rules of their families (check(), ir/schedules/family.h). None is
// lowered for that, so the registers may not suffice for some, and several may make one Program. Of several
// pools: those with the members side by side, not fused.
std::vector<Schedule> legal_schedules(const PoolNest& nest, Isa isa);

// The schedule with every combination of its family's words and tails; the others of its fields are as given.
std::vector<Schedule> with_words(const Schedule& schedule);

// The first schedule of each pool, then the second of each. A pool that has no more keeps its first; each has
// one. own: those of a pool, and so all of a nest of one.
std::vector<Schedule> side_by_side(const PoolNest& nest, size_t most,
                                   const std::function<std::vector<Schedule>(const PoolNest&)>& own);

}  // namespace pooljit::ir
