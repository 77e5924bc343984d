// The LLVM back end's own interface, beside jit::emit(): its optimised module as text.
#pragma once

#include <string>

#include "ir/error.h"
#include "ir/program.h"

namespace pooljit::jit {

// The module that emit(BackendId::llvm, program) makes machine code from, after optimisation and without
// debug locations (`pooljit show --stage llvm`). %vN is the Program's %N. Fails as emit() does.
ir::Result<std::string> llvm_ir(const ir::Program& program);

}  // namespace pooljit::jit
