// Proofs call kernels as their worst caller would: registers hold patterns, tables end where memory does.
#include "runtime/proof/bare_call.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstring>
#include <memory>

#include "runtime/cpu_features.h"
#include "runtime/native_code.h"

namespace pooljit::runtime {
namespace {

using Role = ir::Param::Role;

// The bytes as a kernel of one output and one table of two numbers.
class Bytes {
 public:
  explicit Bytes(const std::vector<uint8_t>& bytes)
      : page_(::mmap(nullptr, page_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)) {
    std::memcpy(page_, bytes.data(), bytes.size());
    ::mprotect(page_, page_bytes, PROT_READ | PROT_EXEC);
    jit::CodeBlob blob;
    blob.code = {static_cast<const uint8_t*>(page_), bytes.size()};
    blob.entry = reinterpret_cast<jit::KernelFunction>(page_);
    ir::Program program;
    program.params = {{Role::output, 0}, {Role::table, 0}};
    program.tables = {{7, 8}};
    code_ = std::make_unique<NativeCode>(CodeInfo{}, program, std::move(blob));
  }
  ~Bytes() { ::munmap(page_, page_bytes); }
  Bytes(const Bytes&) = delete;
  Bytes& operator=(const Bytes&) = delete;

  uint64_t stored(uint8_t pattern) const {
    uint64_t output[8] = {};
    Call call;
    call.output = output;
    BareCall::make(*code_)->run(call, TaskRanges{}, pattern);
    return output[0];
  }

 private:
  static constexpr size_t page_bytes = 4096;
  void* page_;
  std::unique_ptr<NativeCode> code_;
};

TEST(BareCall, RegistersHoldThePattern) {
  // mov rax,[rdi]; vmovups [rax],ymm9; ret
  const Bytes vector({0x48, 0x8b, 0x07, 0xc5, 0x7c, 0x11, 0x08, 0xc3});
  EXPECT_EQ(vector.stored(0xff), 0xffffffffffffffffU);
  EXPECT_EQ(vector.stored(0x12), 0x1212121212121212U);
  if (!can_run(ir::Isa::avx512)) GTEST_SKIP() << "no AVX-512: mask registers are not looked at";
  // mov rax,[rdi]; kmovq [rax],k3; ret
  const Bytes mask({0x48, 0x8b, 0x07, 0xc4, 0xe1, 0xf8, 0x91, 0x18, 0xc3});
  EXPECT_EQ(mask.stored(0xff), 0xffffffffffffffffU);
  EXPECT_EQ(mask.stored(0), 0U);
}

TEST(BareCall, TablesEndWhereMemoryDoes) {
  // mov rax,[rdi]; mov rcx,[rdi+8]; mov rcx,[rcx+8]; mov [rax],rcx; ret
  const Bytes within(
      {0x48, 0x8b, 0x07, 0x48, 0x8b, 0x4f, 0x08, 0x48, 0x8b, 0x49, 0x08, 0x48, 0x89, 0x08, 0xc3});
  EXPECT_EQ(within.stored(0), 8U);
  // the same of [rcx+16]
  const Bytes beyond(
      {0x48, 0x8b, 0x07, 0x48, 0x8b, 0x4f, 0x08, 0x48, 0x8b, 0x49, 0x10, 0x48, 0x89, 0x08, 0xc3});
  EXPECT_DEATH(beyond.stored(0), "");
}

}  // namespace
}  // namespace pooljit::runtime
