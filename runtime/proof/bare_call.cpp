#include "runtime/proof/bare_call.h"

#include <array>
#include <cstring>

#include "runtime/cpu_features.h"
#include "runtime/native_code.h"

namespace pooljit::runtime {
namespace {

// Not inlined: no caller keeps a vector or a mask over a call. Between here and the kernel lies scalar code,
// which leaves mask registers and most of the vectors alone.
[[gnu::noinline]] void fill_registers(uint8_t pattern) {
  alignas(64) std::array<uint8_t, 64> bytes;
  bytes.fill(pattern);
  if (can_run(ir::Isa::avx512)) {
    asm volatile(
        ".irp n,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31\n"
        "vmovups (%0), %%zmm\\n\n"
        ".endr\n"
        ".irp n,1,2,3,4,5,6,7\n"
        "kmovq (%0), %%k\\n\n"
        ".endr\n" ::"r"(bytes.data())
        : "memory", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10",
          "xmm11", "xmm12", "xmm13", "xmm14", "xmm15");
    return;
  }
  asm volatile(
      ".irp n,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15\n"
      "vmovups (%0), %%ymm\\n\n"
      ".endr\n" ::"r"(bytes.data())
      : "memory", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10",
        "xmm11", "xmm12", "xmm13", "xmm14", "xmm15");
}

}  // namespace

ir::Result<BareCall> BareCall::make(const Code& code) {
  BareCall call(code);
  const auto machine = code.machine();
  if (!machine) return call;
  for (const std::vector<int64_t>& table : *machine->tables) {
    auto copy = GuardedBuffer::make(table.size() * sizeof(int64_t), GuardedBuffer::Flush::last_byte);
    if (!copy) return tl::unexpected(copy.error());
    std::memcpy(copy->data(), table.data(), copy->size());
    call.tables_.push_back(std::move(*copy));
  }
  return call;
}

void BareCall::run(const Call& call, const TaskRanges& ranges, uint8_t pattern) const {
  const auto machine = code_.machine();
  if (!machine) return code_.run(call, ranges);
  std::array<uint64_t, ir::most_params> args{};
  std::array<MemberOutput, ir::most_member_outputs> written{};
  fill_arguments(machine->params, *machine->tables, code_.completed(call, written), ranges, args.data());
  for (size_t i = 0; i < machine->params.size(); ++i)
    if (machine->params[i].role == ir::Param::Role::table)
      args[i] = reinterpret_cast<uintptr_t>(tables_[static_cast<size_t>(machine->params[i].number)].data());
  fill_registers(pattern);
  machine->blob->entry(args.data());
  asm volatile("vzeroupper" ::: "memory");  // else what follows in C++ pays for what lies in the registers
}

}  // namespace pooljit::runtime
