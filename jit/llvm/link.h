// An object file into executable memory of this process, through JITLink: pages are written while writable,
// then made executable and no longer writable.
#pragma once

#include <llvm/Support/MemoryBuffer.h>

#include <cstdint>
#include <memory>

#include "ir/error.h"

namespace pooljit::jit {

struct LinkedCode {
  const uint8_t* entry = nullptr;  // of kernel_symbol
  std::shared_ptr<void> owner;     // the last copy frees the memory
};

// A kernel calls out to nothing, so an object that wants a symbol from elsewhere is refused
// ("jit.llvm.codegen").
ir::Result<LinkedCode> link_object(const llvm::MemoryBuffer& object);

}  // namespace pooljit::jit
