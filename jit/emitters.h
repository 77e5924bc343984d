// The function that each back end implements: emit_<name>(program) for its row in jit/backends.def. Called by
// jit::emit() only.
#pragma once

#include "jit/backend.h"

namespace pooljit::jit {

#define BACKEND(name, text, stage, note) \
  ir::Result<CodeBlob> emit_##name(const ir::Program& program, FramePointer frame = FramePointer::free);
#include "jit/backends.def"
#undef BACKEND

#ifdef POOLJIT_WITH_LLVM
ir::Result<void> find_llvm();  // jit::find() of the LLVM back end
#endif

}  // namespace pooljit::jit
