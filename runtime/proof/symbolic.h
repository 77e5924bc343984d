// The parts of a proof that run no code: the Program and the bytes, executed over terms.
#pragma once

#include <string_view>

#include "ir/error.h"
#include "runtime/proof/member.h"
#include "runtime/proof/verify.h"

namespace pooljit::runtime {

// Taps of all outputs.
double work(const ir::PoolNest& nest);
// The same of what one run of a member's kernel does, which makes the other members too.
double work_of_run(const Member& member);

// Errors: those of making the Program; what is wrong with it is the proof's failure.
ir::Result<void> prove_program(const Member& member, const Choices& choices, const ProofLimits& limits,
                               Proof& proof);

// A term that has no reading is left to the probes, and the report says so. False: the tensor is too large.
bool execute_bytes(const Code& code, ir::Isa isa, const ProofLimits& limits, Proof& proof);
void say_only_probed(std::string_view why, Proof& proof);

}  // namespace pooljit::runtime
