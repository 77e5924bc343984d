// gdb's JIT interface (the chapter of that name in gdb's manual): a kernel as an object in memory, with its
// symbol and its unwind table, at the addresses where it lies.
#pragma once

#include <memory>
#include <string>

#include "jit/backend.h"

namespace pooljit::jit {

// gdb knows the kernel until the last copy goes. Keeps the code alive.
std::shared_ptr<void> register_with_gdb(const std::string& name, const CodeBlob& blob);

}  // namespace pooljit::jit
