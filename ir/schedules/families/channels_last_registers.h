// How many vector registers channels_last takes.
#pragma once

#include "ir/schedule.h"
#include "ir/schedules/layer.h"

namespace pooljit::ir {

// FamilyInfo::registers of channels_last.
int channels_last_registers(const Layer& layer, const Schedule& schedule);
// Those of so many vectors side by side that roll along the innermost dimension, for which
// RollingOutputs::can_serve().
int rolling_registers(const PoolNest& nest, const ReductionFacts& facts, Isa isa, int side_by_side);

}  // namespace pooljit::ir
