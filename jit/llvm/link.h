// A relocatable object of LLVM's as a position-independent image: its constants, then its code, linked with
// each other.
#pragma once

#include <llvm/Object/ObjectFile.h>

#include <cstdint>
#include <vector>

#include "ir/error.h"

namespace pooljit::jit {

struct LinkedImage {
  std::vector<uint8_t> bytes;
  size_t code_offset = 0;
  std::vector<uint8_t> frame;  // call frame instructions (jit/object/call_frames.h)
};

// A kernel calls nothing outside, so an object that needs a symbol from elsewhere is refused
// ("jit.llvm.codegen"). So are other things that no kernel needs: several functions, data that is writable or
// that holds addresses.
ir::Result<LinkedImage> link_object(const llvm::object::ObjectFile& object);

}  // namespace pooljit::jit
