#include "jit/object/references.h"

#include <Zydis/Zydis.h>

#include <array>

#include "ir/check.h"

namespace pooljit::jit {

std::vector<ConstantReference> constant_references(const CodeBlob& blob) {
  std::vector<ConstantReference> references;
  const size_t code_offset = blob.image.size() - blob.code.size();
  ZydisDecoder decoder;
  ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
  for (size_t at = 0; at < blob.code.size();) {
    ZydisDecodedInstruction instruction;
    std::array<ZydisDecodedOperand, ZYDIS_MAX_OPERAND_COUNT> operands;
    const auto rest = blob.code.subspan(at);
    const bool is_one = ZYAN_SUCCESS(
        ZydisDecoderDecodeFull(&decoder, rest.data(), rest.size(), &instruction, operands.data()));
    POOLJIT_CHECK(is_one, "code holds what is no instruction");
    for (size_t i = 0; i < instruction.operand_count; ++i) {
      const ZydisDecodedOperand& operand = operands[i];
      if (operand.type != ZYDIS_OPERAND_TYPE_MEMORY || operand.mem.base != ZYDIS_REGISTER_RIP) continue;
      const size_t next = at + instruction.length;
      const auto target =
          static_cast<size_t>(static_cast<int64_t>(code_offset + next) + instruction.raw.disp.value);
      POOLJIT_CHECK(target < code_offset, "code reads what is no constant of its own");
      references.push_back({at + instruction.raw.disp.offset, next, target});
    }
    at += instruction.length;
  }
  return references;
}

}  // namespace pooljit::jit
