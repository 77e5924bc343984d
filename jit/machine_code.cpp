#include "jit/machine_code.h"

#include <fmt/format.h>

#include <algorithm>

#include "jit/fork_gate.h"
#include "jit/promised.h"

namespace pooljit::jit {

namespace {

RegisterName find_name(ZydisRegister reg) {
  if (reg == ZYDIS_REGISTER_NONE) return {};
  const ZydisRegisterClass cls = ZydisRegisterGetClass(reg);
  const auto number = static_cast<size_t>(ZydisRegisterGetId(reg));
  switch (cls) {
    case ZYDIS_REGCLASS_GPR8:
      // ah to bh are parts of rax to rbx.
      if (reg >= ZYDIS_REGISTER_AH && reg <= ZYDIS_REGISTER_BH)
        return {RegisterKind::word, static_cast<size_t>(reg - ZYDIS_REGISTER_AH), 8, false};
      return {RegisterKind::word,
              static_cast<size_t>(
                  ZydisRegisterGetId(ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, reg))),
              8};
    case ZYDIS_REGCLASS_GPR16:
      return {RegisterKind::word, number, 16};
    case ZYDIS_REGCLASS_GPR32:
      return {RegisterKind::word, number, 32};
    case ZYDIS_REGCLASS_GPR64:
      return {RegisterKind::word, number, 64};
    case ZYDIS_REGCLASS_XMM:
      return {RegisterKind::vector, number, 128};
    case ZYDIS_REGCLASS_YMM:
      return {RegisterKind::vector, number, 256};
    case ZYDIS_REGCLASS_ZMM:
      return {RegisterKind::vector, number, 512};
    case ZYDIS_REGCLASS_MASK:
      return {RegisterKind::mask, number, 64};
    case ZYDIS_REGCLASS_FLAGS:
      return {RegisterKind::flags, 0, 64};
    case ZYDIS_REGCLASS_IP:
      return {};
    default:
      return {RegisterKind::other, number, 64};
  }
}

}  // namespace

const RegisterName* register_names() {
  return made_once([] {
           std::array<RegisterName, ZYDIS_REGISTER_MAX_VALUE + 1> all;
           for (size_t i = 0; i < all.size(); ++i) all[i] = find_name(static_cast<ZydisRegister>(i));
           return all;
         })
      .data();
}

bool reads(const ZydisDecodedOperand& operand) {
  return (operand.actions & ZYDIS_OPERAND_ACTION_MASK_READ) != 0;
}
bool writes(const ZydisDecodedOperand& operand) {
  return (operand.actions & ZYDIS_OPERAND_ACTION_MASK_WRITE) != 0;
}
bool may_keep(const ZydisDecodedOperand& operand) {
  return (operand.actions & ZYDIS_OPERAND_ACTION_CONDWRITE) != 0;
}
bool is_memory(const ZydisDecodedOperand& operand) {
  return operand.type == ZYDIS_OPERAND_TYPE_MEMORY && operand.mem.type == ZYDIS_MEMOP_TYPE_MEM;
}

bool is_branch(const Instruction& i) {
  return i.info.meta.category == ZYDIS_CATEGORY_COND_BR || i.info.meta.category == ZYDIS_CATEGORY_UNCOND_BR;
}

Instruction DecodedCode::decode(size_t offset) const {
  Instruction instruction;
  instruction.offset = offset;
  ZydisDecoder decoder;
  ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
  const auto rest = code_.subspan(offset);
  if (!ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoder, rest.data(), rest.size(), &instruction.info,
                                           instruction.operands.data())))
    throw Refused{offset, "this is no instruction"};
  return instruction;
}

size_t DecodedCode::target(const Instruction& branch) const {
  const ZydisDecodedOperand& to = branch.operands[0];
  if (to.type != ZYDIS_OPERAND_TYPE_IMMEDIATE || !to.imm.is_relative)
    throw Refused{branch.offset, "an indirect branch"};
  const int64_t offset = static_cast<int64_t>(branch.end()) + to.imm.value.s;
  if (offset < 0 || offset >= std::ssize(code_)) throw Refused{branch.offset, "a branch out of the code"};
  return static_cast<size_t>(offset);
}

std::vector<size_t> DecodedCode::successors(const Instruction& i) const {
  if (i.info.meta.category == ZYDIS_CATEGORY_RET) return {};
  if (!is_branch(i)) return {i.end()};
  if (i.info.meta.category == ZYDIS_CATEGORY_UNCOND_BR) return {target(i)};
  return {i.end(), target(i)};
}

void DecodedCode::take(size_t offset) {
  const Instruction i = decode(offset);
  const auto category = i.info.meta.category;
  if (category == ZYDIS_CATEGORY_CALL || category == ZYDIS_CATEGORY_SYSCALL ||
      category == ZYDIS_CATEGORY_INTERRUPT || category == ZYDIS_CATEGORY_SYSTEM)
    throw Refused{offset, "it leaves the kernel"};
  if (category == ZYDIS_CATEGORY_STRINGOP || category == ZYDIS_CATEGORY_GATHER ||
      category == ZYDIS_CATEGORY_SCATTER)
    throw Refused{offset, "addresses that are not in the instruction's operands"};
  if (const std::string missing = missing_feature(i.info, isa_); !missing.empty())
    throw Refused{offset,
                  fmt::format("it needs {}, which {} does not promise", missing, ir::info(isa_).text)};
  // Nobody jumps into the middle of an instruction.
  const auto after = instructions_.upper_bound(offset);
  const bool into_next = after != instructions_.end() && after->first < i.end();
  const bool into_last = after != instructions_.begin() && std::prev(after)->second.end() > offset;
  if (into_next || into_last) throw Refused{offset, "instructions overlap"};
  instructions_.emplace(offset, i);
}

DecodedCode::DecodedCode(const CodeBlob& blob)
    : code_(blob.code),
      isa_(blob.isa),
      entry_(static_cast<size_t>(reinterpret_cast<const uint8_t*>(blob.entry) - blob.code.data())) {
  std::vector<size_t> open = {entry_};
  while (!open.empty()) {
    const size_t at = open.back();
    open.pop_back();
    if (instructions_.contains(at)) continue;
    if (at >= code_.size()) throw Refused{at, "control leaves the code"};
    take(at);
    const Instruction& i = instructions_.at(at);
    if (is_branch(i)) targets_.insert(target(i));
    for (size_t next : successors(i)) open.push_back(next);
  }
}

std::string text_of(std::span<const uint8_t> code, size_t offset) {
  ZydisDisassembledInstruction instruction;
  const auto rest = code.subspan(std::min(offset, code.size()));
  if (!ZYAN_SUCCESS(
          ZydisDisassembleIntel(ZYDIS_MACHINE_MODE_LONG_64, offset, rest.data(), rest.size(), &instruction)))
    return "no instruction";
  return instruction.text;
}

}  // namespace pooljit::jit
