// The schedule that a layer gets if nothing was measured. The rules are in ir/schedules/choose/.
#pragma once

#include <cstddef>
#include <vector>

#include "ir/isa.h"
#include "ir/machine.h"
#include "ir/nest.h"
#include "ir/schedule.h"

namespace pooljit::ir {

// The schedules that the chooser offers for the nest on such a machine, best first; the first is the default.
// Never empty. The first one costs least to find: with most = 1 each family finds only its first, and
// families that cannot come first are not asked. Why: ir/schedules/choose/chooser.h.
std::vector<Schedule> enumerate_schedules(const PoolNest& nest, Isa isa, size_t most = SIZE_MAX,
                                          const Machine& machine = generic_machine);

}  // namespace pooljit::ir
