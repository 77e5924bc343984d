// Bytes that no proof allows, and bytes like them that it does: listings for the decode of jit/inspect.h.
#include <gtest/gtest.h>

#include <vector>

#include "jit/inspect.h"

namespace pooljit::jit {
namespace {

using Role = ir::Param::Role;

struct Bytes {
  const char* assembly;
  std::vector<uint8_t> code;
  const char* sentence;  // empty: allowed
};

const std::vector<ir::Param> params = {
    {Role::input, 0}, {Role::output, 0}, {Role::table, 0}, {Role::count, 0}};

const Bytes listings[] = {
    {"mov rax,[rdi]; vmovups ymm0,[rax]; mov rcx,[rdi+8]; vmovups [rcx],ymm0; ret",
     {0x48, 0x8b, 0x07, 0xc5, 0xfc, 0x10, 0x00, 0x48, 0x8b, 0x4f, 0x08, 0xc5, 0xfc, 0x11, 0x01, 0xc3},
     ""},
    {"mov rax,[rdi+24]; dec rax; jnz back; ret",
     {0x48, 0x8b, 0x47, 0x18, 0x48, 0xff, 0xc8, 0x75, 0xfb, 0xc3},
     ""},
    {"mov rax,[rdi]; mov rax,[rax]; dec rax; jnz back; ret",
     {0x48, 0x8b, 0x07, 0x48, 0x8b, 0x00, 0x48, 0xff, 0xc8, 0x75, 0xfb, 0xc3},
     "a branch that depends on data"},
    {"mov rax,[rdi]; mov rcx,[rax]; vmovups ymm0,[rax+rcx]; ret",
     {0x48, 0x8b, 0x07, 0x48, 0x8b, 0x08, 0xc5, 0xfc, 0x10, 0x04, 0x08, 0xc3},
     "an address that depends on data"},
    {"mov rax,[rdi+16]; mov rcx,[rax]; mov rax,[rdi]; vmovups ymm0,[rax+rcx]; ret",
     {0x48, 0x8b, 0x47, 0x10, 0x48, 0x8b, 0x08, 0x48, 0x8b, 0x07, 0xc5, 0xfc, 0x10, 0x04, 0x08, 0xc3},
     ""},
    {"mov rax,[rdi]; vmovups ymm0,[rax]; vptest ymm0,ymm0; jz next; ret",
     {0x48, 0x8b, 0x07, 0xc5, 0xfc, 0x10, 0x00, 0xc4, 0xe2, 0x7d, 0x17, 0xc0, 0x74, 0x00, 0xc3},
     "not known to touch data"},
    {"mov rax,[rdi]; mov [rax],rcx; ret",
     {0x48, 0x8b, 0x07, 0x48, 0x89, 0x08, 0xc3},
     "a write to what is no output"},
    {"two masks side by side on the stack: one of data, one of a count, which guards a store",
     {0x48, 0x8b, 0x07, 0x48, 0x8b, 0x4f, 0x08, 0x48, 0x8b, 0x57, 0x18, 0x62, 0xf1, 0x7c,
      0x48, 0x10, 0x00, 0x62, 0xf1, 0x7c, 0x48, 0xc2, 0xc8, 0x03, 0xc5, 0xf8, 0x91, 0x4c,
      0x24, 0xf0, 0xc5, 0xf8, 0x92, 0xca, 0xc5, 0xf8, 0x91, 0x4c, 0x24, 0xf2, 0xc5, 0xf8,
      0x90, 0x4c, 0x24, 0xf2, 0x62, 0xf1, 0x7c, 0x49, 0x11, 0x01, 0xc3},
     ""},
    {"the same, but the mask of data guards it",
     {0x48, 0x8b, 0x07, 0x48, 0x8b, 0x4f, 0x08, 0x48, 0x8b, 0x57, 0x18, 0x62, 0xf1, 0x7c,
      0x48, 0x10, 0x00, 0x62, 0xf1, 0x7c, 0x48, 0xc2, 0xc8, 0x03, 0xc5, 0xf8, 0x91, 0x4c,
      0x24, 0xf0, 0xc5, 0xf8, 0x92, 0xca, 0xc5, 0xf8, 0x91, 0x4c, 0x24, 0xf2, 0xc5, 0xf8,
      0x90, 0x4c, 0x24, 0xf0, 0x62, 0xf1, 0x7c, 0x49, 0x11, 0x01, 0xc3},
     "a mask that depends on data guards memory"},
    {"jmp rax", {0xff, 0xe0}, "an indirect branch"},
    {"call next; ret", {0xe8, 0x00, 0x00, 0x00, 0x00, 0xc3}, "it leaves the kernel"},
    {"push rax; ret", {0x50, 0xc3}, "another stack pointer"},
    {"xor ebx,ebx; ret", {0x31, 0xdb, 0xc3}, "a register changed that it has to keep"},
    {"push rbx; xor ebx,ebx; pop rbx; ret", {0x53, 0x31, 0xdb, 0x5b, 0xc3}, ""},
    {"jmp into the middle", {0xeb, 0xff, 0xc3}, "overlap"},
    {"nop", {0x90}, "control leaves the code"},
};

// An operand of the steps may be a factor; it may not decide where control goes.
TEST(WrongBytes, OperandsAreFactorsButData) {
  const std::vector<ir::Param> with_operand = {{Role::input, 0}, {Role::operand, 0}};
  const auto facts_of = [&](std::vector<uint8_t> code) {
    CodeBlob blob;
    blob.code = code;
    blob.entry = reinterpret_cast<KernelFunction>(reinterpret_cast<uintptr_t>(code.data()));
    return inspect(blob, with_operand);
  };
  // mov rax,[rdi]; vmovups ymm0,[rax]; mov rcx,[rdi+8]; vmulps ymm0,ymm0,[rcx]; ret
  const auto multiplies = facts_of(
      {0x48, 0x8b, 0x07, 0xc5, 0xfc, 0x10, 0x00, 0x48, 0x8b, 0x4f, 0x08, 0xc5, 0xfc, 0x59, 0x01, 0xc3});
  ASSERT_TRUE(multiplies) << multiplies.error().message;
  EXPECT_FALSE(multiplies->products);
  // the same with the input: vmulps ymm0,ymm0,[rax]
  const auto squares = facts_of({0x48, 0x8b, 0x07, 0xc5, 0xfc, 0x10, 0x00, 0xc5, 0xfc, 0x59, 0x00, 0xc3});
  ASSERT_TRUE(squares);
  EXPECT_TRUE(squares->products);
  // mov rcx,[rdi+8]; mov rcx,[rcx]; dec rcx; jnz back; ret
  const auto branches =
      facts_of({0x48, 0x8b, 0x4f, 0x08, 0x48, 0x8b, 0x09, 0x48, 0xff, 0xc9, 0x75, 0xfb, 0xc3});
  ASSERT_FALSE(branches);
  EXPECT_NE(branches.error().message.find("a branch that depends on data"), std::string::npos);
}

struct Factors {
  const char* assembly;  // behind vmovups ymm0,[rax], where rax points to the input
  std::vector<uint8_t> code;
  bool products, squares;
};
const Factors factors[] = {
    {"vaddps ymm0,ymm0,ymm0", {0xc5, 0xfc, 0x58, 0xc0}, false, false},
    {"vmulps ymm0,ymm0,ymm0", {0xc5, 0xfc, 0x59, 0xc0}, false, true},
    {"vcvtsi2sd xmm1,xmm0,rdx; vunpcklpd xmm1,xmm1,xmm1; vdivpd ymm0,ymm0,ymm1",
     {0xc4, 0xe1, 0xfb, 0x2a, 0xca, 0xc5, 0xf1, 0x14, 0xc9, 0xc5, 0xfd, 0x5e, 0xc1},
     false,
     false},
    {"vcvtsi2sd xmm1,xmm0,rdx; vdivpd ymm0,ymm0,ymm1",
     {0xc4, 0xe1, 0xfb, 0x2a, 0xca, 0xc5, 0xfd, 0x5e, 0xc1},
     true,
     false},
    {"vmulps ymm0,ymm0,[rax]", {0xc5, 0xfc, 0x59, 0x00}, true, false},
    {"vdivps ymm0,ymm0,ymm0", {0xc5, 0xfc, 0x5e, 0xc0}, true, false},
    {"vfmadd231ps ymm1,ymm0,ymm0", {0xc4, 0xe2, 0x7d, 0xb8, 0xc8}, false, true},
    {"vfmadd213ps ymm0,ymm0,[rax]", {0xc4, 0xe2, 0x7d, 0xa8, 0x00}, false, true},
    {"vfmadd231ps ymm1,ymm0,[rax]", {0xc4, 0xe2, 0x7d, 0xb8, 0x08}, true, false},
};

TEST(WrongBytes, TellsSquaresFromProducts) {
  for (const Factors& row : factors) {
    std::vector<uint8_t> code = {0x48, 0x8b, 0x07, 0xc5, 0xfc, 0x10, 0x00};
    code.insert(code.end(), row.code.begin(), row.code.end());
    code.push_back(0xc3);
    CodeBlob blob;
    blob.code = code;
    blob.entry = reinterpret_cast<KernelFunction>(reinterpret_cast<uintptr_t>(code.data()));
    const auto facts = inspect(blob, params);
    ASSERT_TRUE(facts) << row.assembly << ": " << facts.error().message;
    EXPECT_EQ(facts->products, row.products) << row.assembly;
    EXPECT_EQ(facts->squares, row.squares) << row.assembly;
  }
}

TEST(WrongBytes, AllowsWhatIsIndependentOfData) {
  for (const Bytes& bytes : listings) {
    CodeBlob blob;
    blob.code = bytes.code;
    blob.entry = reinterpret_cast<KernelFunction>(reinterpret_cast<uintptr_t>(bytes.code.data()));
    const auto facts = inspect(blob, params);
    EXPECT_EQ(facts.has_value(), *bytes.sentence == '\0')
        << bytes.assembly << ": " << (facts ? "" : facts.error().message);
    if (!facts) {
      EXPECT_NE(facts.error().message.find(bytes.sentence), std::string::npos) << facts.error().message;
    }
  }
}

}  // namespace
}  // namespace pooljit::jit
