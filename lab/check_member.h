// check() of one pool of a spec: all engines, ISAs and schedules on its data.
#pragma once

#include "frontend/pool_spec.h"
#include "ir/error.h"
#include "lab/check.h"
#include "runtime/proof/member.h"

namespace pooljit::runtime {

// member: of the spec, or of code for all extents at the spec's.
ir::Result<CheckReport> check_member(const frontend::PoolSpec& spec, const Member& member,
                                     const CheckOptions& options);

}  // namespace pooljit::runtime
