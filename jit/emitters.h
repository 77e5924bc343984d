// What each back end implements: emit_<name>(program) for its row in jit/backends.def. Called by jit::emit()
// only.
#pragma once

#include "jit/backend.h"

namespace pooljit::jit {

#define BACKEND(name, text, stage, note) ir::Result<CodeBlob> emit_##name(const ir::Program& program);
#include "jit/backends.def"
#undef BACKEND

}  // namespace pooljit::jit
