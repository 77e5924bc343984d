// Zydis, which reads machine code, is loaded when it is first needed: by proofs, by export and by listings,
// not by who only compiles and runs. Its functions are those of <Zydis/Zydis.h>; without the library they
// fail as for bytes that are no instruction.
#pragma once

#include "ir/error.h"

namespace pooljit::jit {

// Loads it; asked by whatever is about to read machine code. Errors: "decoder.missing". Thread-safe.
ir::Result<void> require_decoder();

}  // namespace pooljit::jit
