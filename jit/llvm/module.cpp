#include "jit/llvm/module.h"

#include "jit/llvm/compile.h"

namespace pooljit::jit {

extern "C" __attribute__((visibility("default"))) const LlvmModule pooljit_llvm_module = {
    POOLJIT_VERSION, sizeof(ir::Program), sizeof(CodeBlob), compile_with_llvm, llvm_module_text};

}  // namespace pooljit::jit
