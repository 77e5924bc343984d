#include "proof/bytes/steps.h"

#include <algorithm>
#include <map>

namespace pooljit::jit::x86 {
namespace {

// Which lanes are written is said in info.avx.mask, too; as an operand it would be in the way of the others.
void take_write_mask(Instruction& i) {
  if (i.info.encoding != ZYDIS_INSTRUCTION_ENCODING_EVEX) return;
  const auto begin = i.operands.begin(), end = begin + i.info.operand_count;
  const auto mask = std::find_if(
      begin, end, [](const ZydisDecodedOperand& one) { return one.encoding == ZYDIS_OPERAND_ENCODING_MASK; });
  if (mask == end) return;
  std::rotate(mask, mask + 1, end);
  --i.info.operand_count;
  --i.info.operand_count_visible;
}

CodeStep::Kind kind_of(const Instruction& i, const VectorRow* row) {
  if (row) return CodeStep::Kind::vector;
  if (i.info.mnemonic == ZYDIS_MNEMONIC_VZEROUPPER) return CodeStep::Kind::zero_upper;
  if (i.info.mnemonic == ZYDIS_MNEMONIC_SFENCE) return CodeStep::Kind::nothing;
  switch (i.info.meta.category) {
    case ZYDIS_CATEGORY_RET:
      return CodeStep::Kind::ret;
    case ZYDIS_CATEGORY_UNCOND_BR:
      return CodeStep::Kind::jump;
    case ZYDIS_CATEGORY_COND_BR:
      return CodeStep::Kind::branch;
    case ZYDIS_CATEGORY_NOP:
    case ZYDIS_CATEGORY_WIDENOP:
    case ZYDIS_CATEGORY_CET:
    case ZYDIS_CATEGORY_PREFETCH:
      return CodeStep::Kind::nothing;
    default:
      return CodeStep::Kind::word;
  }
}

}  // namespace

Steps::Steps(const DecodedCode& code) {
  std::map<size_t, size_t> numbers;  // by offset
  for (const auto& [offset, instruction] : code.instructions()) numbers.emplace(offset, numbers.size());
  steps_.reserve(numbers.size());
  for (const auto& [offset, instruction] : code.instructions()) {
    const auto encoding = instruction.info.encoding;
    const bool may_have_row =
        encoding == ZYDIS_INSTRUCTION_ENCODING_EVEX || encoding == ZYDIS_INSTRUCTION_ENCODING_VEX;
    CodeStep step{.instruction = instruction,
                  .row = may_have_row ? find_row(instruction.info.mnemonic) : nullptr};
    step.kind = kind_of(instruction, step.row);
    if (step.kind == CodeStep::Kind::jump || step.kind == CodeStep::Kind::branch)
      step.target = numbers.at(code.successors(instruction).back());
    take_write_mask(step.instruction);
    steps_.push_back(step);
  }
  entry_ = numbers.at(code.entry());
}

}  // namespace pooljit::jit::x86
