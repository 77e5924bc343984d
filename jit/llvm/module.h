// The interface of libpooljit-llvm.so for libpooljit.so. The LLVM back end is a module of its own, so that
// only a process that asks for it loads LLVM (70 ms and 50 MB). Both sides pass C++ types, so both must be of
// one build: see matches().
#pragma once

#include <string>
#include <string_view>

#include "ir/error.h"
#include "ir/program.h"
#include "jit/backend.h"

namespace pooljit::jit {

struct LlvmModule {
  const char* version;  // of pooljit
  size_t program_bytes, code_bytes;
  // jit::emit() for the back end
  ir::Result<CodeBlob> (*emit)(const ir::Program& program, FramePointer frame);
  ir::Result<std::string> (*module_text)(const ir::Program& program);  // llvm_ir()

  bool matches() const {
    return std::string_view(version) == POOLJIT_VERSION && program_bytes == sizeof(ir::Program) &&
           code_bytes == sizeof(CodeBlob);
  }
};

// The module's file, and the one symbol that it exports: a LlvmModule.
inline constexpr const char llvm_module_file[] = "libpooljit-llvm.so";
inline constexpr const char llvm_module_symbol[] = "pooljit_llvm_module";

}  // namespace pooljit::jit
