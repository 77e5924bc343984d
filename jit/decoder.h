// Zydis, which decodes machine code. It is loaded when a proof, an export or a listing first needs it; a
// process that only compiles and runs never loads it. Its functions are those of <Zydis/Zydis.h>; without the
// library they fail as for bytes that are no instruction.
#pragma once

#include "ir/error.h"

namespace pooljit::jit {

// Loads it. Call this before reading machine code. Errors: "decoder.missing". Thread-safe.
ir::Result<void> require_decoder();

}  // namespace pooljit::jit
