#include "jit/xbyak/entry_parts.h"

#include <limits>
#include <map>
#include <utility>

#include "ir/program.h"

namespace pooljit::jit {

namespace {

using Xbyak::CodeGenerator;
using Xbyak::Label;

constexpr uint32_t default_mxcsr = 0x1f80, sticky_flags = 0x3f;

void cpuid_leaf(CodeGenerator& a, uint32_t leaf) {
  a.mov(a.eax, leaf);
  a.xor_(a.ecx, a.ecx);
  a.cpuid();
}

void jump_unless_all(CodeGenerator& a, const Xbyak::Reg32& flags, uint32_t wanted, Label& to) {
  a.and_(flags, wanted);
  a.cmp(flags, wanted);
  a.jne(to, CodeGenerator::T_NEAR);
}

// Features of an ISA beyond those of the one before it: bits by leaf and word.
using FeatureBits = std::map<std::pair<uint32_t, ir::CpuidWord>, uint32_t>;
FeatureBits bits_of(ir::Isa isa) {
  FeatureBits all;
  for (const ir::CpuFeature& feature : ir::cpu_features)
    if (feature.since == isa) all[{feature.leaf, feature.word}] |= 1U << feature.bit;
  return all;
}

void compare_mxcsr(CodeGenerator& a, int at) {
  a.mov(a.eax, a.dword[a.rsp + at]);
  a.and_(a.eax, ~sticky_flags);
  a.cmp(a.eax, default_mxcsr);
}

}  // namespace

void write_isa_level(CodeGenerator& a) {
  Label known;
  constexpr uint32_t last_leaf = 7, osxsave = 1U << 27;
  const Xbyak::Reg32 saved = a.r8d, level = a.r9d, words[] = {a.eax, a.ebx, a.ecx, a.edx};
  a.mov(level, no_isa_level);
  cpuid_leaf(a, 0);
  a.cmp(a.eax, last_leaf);
  a.jb(known, CodeGenerator::T_NEAR);
  cpuid_leaf(a, 1);
  jump_unless_all(a, a.ecx, osxsave, known);
  a.xor_(a.ecx, a.ecx);
  a.xgetbv();
  a.mov(saved, a.eax);
  for (const ir::IsaInfo& isa : ir::isa_table) {
    a.mov(a.eax, saved);
    jump_unless_all(a, a.eax, isa.saved_registers, known);
    for (const auto& [place, bits] : bits_of(isa.isa)) {
      cpuid_leaf(a, place.first);
      jump_unless_all(a, words[static_cast<size_t>(place.second)], bits, known);
    }
    a.mov(level, level_of(isa.isa));
  }
  a.L(known);
  a.mov(a.eax, level);
}

void write_cut(CodeGenerator& a) {
  constexpr int fine_grain = 16;  // tasks of a part: one more or less does not matter
  Label all, next, found;
  a.mov(a.rax, a.r14);
  a.xor_(a.edx, a.edx);
  a.div(a.r13);
  a.test(a.rdx, a.rdx);
  a.jz(all);
  a.mov(a.rax, a.r13);
  a.shl(a.rax, 4);
  static_assert(fine_grain == 1 << 4);
  a.cmp(a.r14, a.rax);
  a.jae(all);
  a.mov(a.rax, a.r14);  // the greatest common divisor
  a.mov(a.rcx, a.r13);
  a.L(next);
  a.xor_(a.edx, a.edx);
  a.div(a.rcx);
  a.mov(a.rax, a.rcx);
  a.mov(a.rcx, a.rdx);
  a.test(a.rcx, a.rcx);
  a.jnz(next);
  a.mov(a.r15, a.rax);
  a.jmp(found);
  a.L(all);
  a.mov(a.r15, a.r13);
  a.L(found);
  a.mov(a.rax, a.r13);
  a.xor_(a.edx, a.edx);
  a.div(a.r15);
  a.mov(a.rcx, a.rax);  // parts in a cut
  a.mov(a.rax, a.r12);
  a.xor_(a.edx, a.edx);
  a.div(a.rcx);
  a.mov(a.r12, a.rdx);
  a.mov(a.r13, a.rcx);
}

void write_last_cut(CodeGenerator& a, Label& nothing) {
  a.mov(a.r15, a.r13);
  a.cmp(a.r15, a.r14);
  a.cmova(a.r15, a.r14);
  a.cmp(a.r12, a.r15);
  a.jae(nothing, CodeGenerator::T_NEAR);
  a.mov(a.rax, a.r12);
}

void write_range(CodeGenerator& a, int begin, int count) {
  a.mov(a.rcx, a.rax);
  a.mov(a.rax, a.r14);
  a.xor_(a.edx, a.edx);
  a.div(a.r15);  // rax: the size, rdx: how many cuts are longer by one
  a.mov(a.rsi, a.rcx);
  a.cmp(a.rsi, a.rdx);
  a.cmova(a.rsi, a.rdx);
  a.mov(a.rdi, a.rcx);
  a.imul(a.rdi, a.rax);
  a.add(a.rdi, a.rsi);
  a.mov(a.qword[a.rsp + begin], a.rdi);
  a.xor_(a.esi, a.esi);
  a.cmp(a.rcx, a.rdx);
  a.setb(a.sil);
  a.add(a.rax, a.rsi);
  a.mov(a.qword[a.rsp + count], a.rax);
}

void write_batch_check(CodeGenerator& a, const Xbyak::Address& batch, int64_t largest, Label& invalid,
                       Label& done) {
  a.mov(a.rax, batch);
  a.test(a.rax, a.rax);
  a.js(invalid, CodeGenerator::T_NEAR);
  a.jz(done, CodeGenerator::T_NEAR);
  if (largest == std::numeric_limits<int64_t>::max()) return;
  a.mov(a.rcx, largest);
  a.cmp(a.rax, a.rcx);
  a.jg(invalid, CodeGenerator::T_NEAR);
}

void write_scratch_on_stack(CodeGenerator& a, int64_t bytes, const Xbyak::Address& word) {
  constexpr int page_bytes = 4096;
  Label next, done;
  a.lea(a.rax, a.ptr[a.rsp - static_cast<int>(bytes)]);
  a.and_(a.rax, -static_cast<int>(ir::scratch_alignment));
  a.L(next);
  a.sub(a.rsp, page_bytes);
  a.cmp(a.rsp, a.rax);
  a.jbe(done);
  a.mov(a.byte[a.rsp], 0);
  a.jmp(next);
  a.L(done);
  a.mov(a.rsp, a.rax);
  a.mov(a.byte[a.rsp], 0);
  a.mov(word, a.rax);
}

void write_mxcsr_saved(CodeGenerator& a, int at) {
  Label as_wanted;
  a.stmxcsr(a.dword[a.rsp + at]);
  compare_mxcsr(a, at);
  a.je(as_wanted);
  a.mov(a.dword[a.rsp + at + 4], default_mxcsr);
  a.ldmxcsr(a.dword[a.rsp + at + 4]);
  a.L(as_wanted);
}

void write_mxcsr_restored(CodeGenerator& a, int at) {
  Label as_wanted;
  compare_mxcsr(a, at);
  a.je(as_wanted);
  a.stmxcsr(a.dword[a.rsp + at + 4]);
  a.mov(a.ecx, a.dword[a.rsp + at + 4]);
  a.and_(a.ecx, sticky_flags);
  a.or_(a.dword[a.rsp + at], a.ecx);
  a.ldmxcsr(a.dword[a.rsp + at]);
  a.L(as_wanted);
}

}  // namespace pooljit::jit
