// Listings: what stands beside which instruction.
#include <gtest/gtest.h>

#include "ir/builder.h"
#include "jit/backend.h"

namespace pooljit::jit {
namespace {

using ir::Builder;
using ir::DType;
using ir::Param;
using ir::Type;
using ir::Value;

// input and output parameters, one vector copied: %0, %1, %2 and no value, then ret.
ir::Program copy() {
  Builder b("copy", ir::Isa::avx2);
  const Value in = b.param(Param::Role::input), out = b.param(Param::Role::output);
  b.store({out, {}, 0}, b.load(Type::vec(DType::f32, 8), {in, {}, 32}));
  b.ret();
  return b.finish();
}

constexpr uint8_t code[] = {
    0x48, 0x8b, 0x07,              // mov rax, [rdi]
    0x48, 0x8b, 0x4f, 0x08,        // mov rcx, [rdi + 8]
    0xc5, 0xfc, 0x10, 0x40, 0x20,  // vmovups ymm0, [rax + 0x20]
    0xc5, 0xfc, 0x11, 0x01,        // vmovups [rcx], ymm0
    0x06,                          // no instruction in 64-bit mode
    0xc5, 0xf8, 0x77,              // vzeroupper
    0xeb, 0xf7,                    // jmp: a target as an offset
    0xc3,                          // ret
};

TEST(Listing, PutsEachProgramLineBesideItsFirstInstruction) {
  CodeBlob blob;
  blob.code = code;
  blob.bytes = sizeof code + 32;
  blob.lines = {{0, 0}, {3, 1}, {7, 2}, {12, 3}, {16, -1}, {22, 4}};
  EXPECT_EQ(listing(blob, copy()),
            "     0  mov rax, [rdi]                                          ; %0 = param input : ptr\n"
            "     3  mov rcx, [rdi+0x08]                                     ; %1 = param output : ptr\n"
            "     7  vmovups ymm0, [rax+0x20]                                ; %2 = load [%0 + 32] : f32x8\n"
            "     c  vmovups [rcx], ymm0                                     ; store [%1], %2\n"
            "    10  db 0x06\n"
            "    11  vzeroupper\n"
            "    14  jmp 0x000000000000000D\n"
            "    16  ret                                                     ; ret\n"
            "; 23 bytes of code, 32 of constants\n");
}

TEST(Listing, OfNothingIsItsSize) {
  EXPECT_EQ(listing(CodeBlob{}, copy()), "; 0 bytes of code, 0 of constants\n");
}

}  // namespace
}  // namespace pooljit::jit
