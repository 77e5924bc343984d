// What an instruction needs of a processor beside what an instruction set promises (ir/cpu_features.def).
// Which set of instructions each one is of is Zydis' knowledge, not ours.
#pragma once

#include <Zydis/Zydis.h>

#include <string>

#include "ir/isa.h"

namespace pooljit::jit {

// The first feature that the instruction needs and `isa` does not promise; empty: there is none.
std::string missing_feature(const ZydisDecodedInstruction& instruction, ir::Isa isa);

}  // namespace pooljit::jit
