// Programs of several pools of one input as one Program, and one of them out of it again.
#pragma once

#include <span>
#include <string>

#include "ir/error.h"
#include "ir/program.h"

namespace pooljit::ir {

// Does what each member does, one after the other for each task: what one has loaded is near for the next.
// Member k stores to `output k` and `indices k`. Its tasks are what the members' have in common: of each
// dimension that has more than one, as many as divide those of all; the rest of a member's are done within.
// All are of stage affine and for one ISA. Errors: "schedule.members" for more parameters than a kernel
// takes.
Result<Program> join_members(std::string name, std::span<const Program> members);

// What member `number` of such a Program does, in its tasks, as if it were alone: the stores of the others
// are left out, and its own go to `output` and `indices`.
Program only_member(const Program& joined, int number);

}  // namespace pooljit::ir
