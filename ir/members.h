// Programs of several pools of one input as one Program, and one of them out of it again.
#pragma once

#include <span>
#include <string>

#include "ir/error.h"
#include "ir/nest.h"
#include "ir/program.h"

namespace pooljit::ir {

// At most so many tasks: along the channels, and along the first spatial dimension.
struct MemberTasks {
  int channels = 1, rows = 1;
  bool operator==(const MemberTasks&) const = default;
};

// One of the joined Programs, and what it reads and writes.
struct MemberPart {
  Program program;
  int member = 0;               // of the outputs and indices
  int first_operand = 0;        // of all members' operands: its own follow
  int reads = -1, writes = -1;  // rooms; -1: the input, the output
  int rows_word = -1;           // of code for all extents: the word that says how many rows it has
};

// Channels of the tensor, `count` times as many as the Programs are for, and how far apart in bytes these
// pieces begin; in each the same rooms of scratch memory serve.
struct MemberPieces {
  int64_t count = 1;
  int64_t input_bytes = 0;
  std::vector<int64_t> output_bytes, indices_bytes;  // by member
  std::vector<int64_t> operand_bytes;                // by operand
  std::vector<int64_t> rooms;                        // bytes of each, by number
};

// Runs the members one after the other in each task, so data that one has loaded is in cache for the next.
// Fused, they run in the same loops where these have equal counts, so a vector that one has loaded is still
// in a register (ir/fusion.h). Member k stores to `output k` and `indices k`, and its operands are numbered
// behind those of the members before. The tasks are batches, and the most rows, or else channels, that divide
// those of all members and are no more than asked for; the rest of a member's tasks are loops within, as
// are rows that follow the size. All are of stage affine and for one ISA. Errors: "schedule.members" for more
// parameters or more scratch memory than a kernel takes; fused, for any scratch memory.
Result<Program> join_members(std::string name, std::span<const MemberPart> members, const MemberTasks& most,
                             bool fused = false);

// The same for each piece: the tasks are batches and pieces.
Result<Program> join_members(std::string name, std::span<const MemberPart> parts, const MemberPieces& pieces);

// The Program of member `number` alone, in the tasks of the joined one: without the stores of the others and
// all that only these need. Its own stores go to `output` and `indices`. pools: those of the nest.
Program only_member(Program joined, std::span<const PoolNest> pools, int number);

}  // namespace pooljit::ir
