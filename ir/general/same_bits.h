// Whether a kernel may go from code for all sizes to code for one: only where that changes no bit of any
// result, whatever the zeros and NaNs in the input are.
#pragma once

#include <cstdint>

#include "ir/isa.h"
#include "ir/nest.h"
#include "ir/schedule.h"

namespace pooljit::ir {

enum class SameBits : uint8_t { never, by_the_same_schedule, by_any_schedule };

// general: what the code for all sizes was made of, by this schedule; sized: the layer at the size. Of
// several pools what holds for all.
SameBits same_bits(const PoolNest& general, const PoolNest& sized, const Schedule& schedule, Isa isa);

}  // namespace pooljit::ir
