// The feature that an instruction needs of a processor, if the instruction set does not promise it
// (ir/cpu_features.def). Zydis knows the feature of each instruction.
#pragma once

#include <Zydis/Zydis.h>

#include <string>

#include "ir/isa.h"

namespace pooljit::jit {

// The first feature that the instruction needs and `isa` does not promise; empty: there is none.
std::string missing_feature(const ZydisDecodedInstruction& instruction, ir::Isa isa);

}  // namespace pooljit::jit
