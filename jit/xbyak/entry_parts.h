// Pieces of the entries of jit/xbyak/entry_code.h: what the processor has, which tasks a part has, and the
// floating-point environment. Registers are named in the comments; others that a callee may destroy are.
#pragma once

#include <xbyak/xbyak.h>

#include <cstdint>

#include "ir/isa.h"

namespace pooljit::jit {

// An object's record of the processor: 0, not looked at yet; 1, it has no ISA; 2 and up, the row of
// ir/isa.def.
inline constexpr int no_isa_level = 1;
constexpr int level_of(ir::Isa isa) { return 2 + static_cast<int>(isa); }

// eax: the level: the last ISA of which the processor has all that ir/cpu_features.def promises, and the
// system saves the registers. Destroys rbx, rcx, rdx, r8 and r9; keeps rdi.
void write_isa_level(Xbyak::CodeGenerator& a);

// A batch that is negative or larger than `largest` is invalid; one of 0 is done. Destroys rax and rcx.
void write_batch_check(Xbyak::CodeGenerator& a, const Xbyak::Address& batch, int64_t largest,
                       Xbyak::Label& invalid, Xbyak::Label& done);

// A dimension of tasks, cut among parts: r14 tasks, r13 parts of which r12 is asked for -> r15 cuts, rax the
// number of the cut, r13 and r12 the parts within it. All parts get a cut of their own if that keeps them
// equally busy; else there are as many cuts as share both out evenly.
void write_cut(Xbyak::CodeGenerator& a);
// The same where no dimension follows. Parts beyond the last task have nothing to do: they go to `nothing`.
void write_last_cut(Xbyak::CodeGenerator& a, Xbyak::Label& nothing);
// Cut rax of r15 of r14 tasks: its first task and how many, into words at these offsets from rsp.
void write_range(Xbyak::CodeGenerator& a, int begin, int count);

// So many bytes of the stack, aligned as kernels want them: their address into the word. Page by page, so
// that a stack that is too small is seen by its guard page. Destroys rax.
void write_scratch_on_stack(Xbyak::CodeGenerator& a, int64_t bytes, const Xbyak::Address& word);

// Sets round to nearest, denormals kept and all exceptions masked, as kernels need. The caller's word is kept
// in the first of two words of 4 bytes at this offset from rsp.
void write_mxcsr_saved(Xbyak::CodeGenerator& a, int at);
// With the sticky flags that the kernel raised, as if it had run in the caller's environment.
void write_mxcsr_restored(Xbyak::CodeGenerator& a, int at);

}  // namespace pooljit::jit
