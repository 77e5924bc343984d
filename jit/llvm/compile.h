// The LLVM back end itself, as libpooljit-llvm.so hands it out. The others ask jit::emit() and
// jit::llvm_ir(), which load the module.
#pragma once

#include <string>

#include "ir/error.h"
#include "ir/program.h"
#include "jit/backend.h"

namespace pooljit::jit {

ir::Result<CodeBlob> compile_with_llvm(const ir::Program& program, FramePointer frame);
ir::Result<std::string> llvm_module_text(const ir::Program& program);

}  // namespace pooljit::jit
