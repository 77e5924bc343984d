// Program (stage affine) -> a new LLVM module's one function, `kernel_symbol`, of the kernel's ABI.
//
// Structured loops become guarded loops with one phi per carried value; addresses become chains of i8 GEPs,
// the outermost term first, so that LICM can hoist them. Buffers never overlap: each pointer parameter is an
// alias scope of its own, and what is read from tables is invariant. Every access has alignment 1, but for
// non-temporal stores.
#pragma once

#include <llvm/IR/Module.h>

#include "ir/error.h"
#include "ir/program.h"
#include "jit/backend.h"

namespace llvm {
class TargetMachine;
}

namespace pooljit::jit {

inline constexpr const char* kernel_symbol = "pooljit_kernel";

// Annotations of the module's code: debug locations whose line is the instruction's number + 1, for
// CodeBlob::lines; or names (%v7 is the Program's %7), for people.
enum class Annotate : uint8_t { lines, names };

// Fails with "jit.llvm.program" on a Program that ir::verify refuses: LLVM does not check its input.
ir::Result<void> translate(const ir::Program& program, const llvm::TargetMachine& target,
                           llvm::Module& module, Annotate annotate, FramePointer frame);

}  // namespace pooljit::jit
