// LLVM's target for an ISA: what turns a module into better IR and into an object file.
#pragma once

#include <llvm/IR/Module.h>
#include <llvm/Support/MemoryBuffer.h>
#include <llvm/Target/TargetMachine.h>

#include <memory>

#include "ir/error.h"
#include "ir/isa.h"

namespace pooljit::jit {

// This thread's target machine for the ISA, made on first use and kept: making one costs more than a kernel
// needs. It generates code for the ISA, whatever the host has.
llvm::TargetMachine& target_machine(ir::Isa isa);

// The scalar clean-ups that a Program profits from. No vectoriser, no unroller (the schedule decided that),
// nothing that makes a library call out of a loop, nothing that reorders floating point.
void optimise(llvm::Module& module, llvm::TargetMachine& target);

// The module as a relocatable ELF object.
ir::Result<std::unique_ptr<llvm::MemoryBuffer>> emit_object(llvm::Module& module,
                                                            llvm::TargetMachine& target);

}  // namespace pooljit::jit
