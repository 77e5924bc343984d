#include "proof/bytes/abstract_operands.h"

#include <algorithm>

#include "ir/op_rules.h"

namespace pooljit::jit {
namespace {

AbstractWord word_of(ZydisRegister reg, const AbstractState& state) {
  const RegisterName name = name_of(reg);
  return name.kind == RegisterKind::word ? state.words[name.number] : AbstractWord::exact(0);
}

void set_word(const RegisterName& name, const AbstractWord& word, AbstractState& state) {
  AbstractWord& to = state.words[name.number];
  if (name.bits == 64)
    to = word;
  else if (name.bits == 32)
    to = word.is_data               ? AbstractWord::data()
         : word.has_left(name.bits) ? AbstractWord::left()
         : word.has_base()          ? AbstractWord::mixed()
                                    : word;
  else if (word.is_data || to.is_data) {
    // What lies above stays as it is.
    const int clean = word.is_data ? 0 : std::max(int{to.clean_bits}, name.is_low ? name.bits : 0);
    to = AbstractWord::data();
    to.clean_bits = static_cast<uint8_t>(clean);
  } else if (word.has_left(name.bits) || to.has_left(word_bits)) {
    const int clean =
        word.has_left(name.bits) ? 0 : std::max(int{to.clean_bits}, name.is_low ? name.bits : 0);
    to = AbstractWord::left();
    to.clean_bits = static_cast<uint8_t>(clean);
  } else {
    to = AbstractWord::mixed();
  }
}

// Bit i: byte i of the slot at `slot` is one of those.
uint8_t bytes_within(int64_t slot, int64_t offset, int64_t bytes) {
  uint8_t within = 0;
  for (int64_t i = 0; i < 8; ++i)
    if (slot + i >= offset && slot + i < offset + bytes) within |= static_cast<uint8_t>(1U << i);
  return within;
}

}  // namespace

AbstractWord address(const ZydisDecodedOperand& operand, const AbstractState& state) {
  if (operand.mem.base == ZYDIS_REGISTER_RIP) return AbstractWord::number();
  const AbstractWord base = word_of(operand.mem.base, state), index = word_of(operand.mem.index, state);
  const AbstractWord offset =
      AbstractWord::exact(operand.mem.disp.has_displacement ? operand.mem.disp.value : 0);
  return plus(plus(base, index, std::max<int64_t>(operand.mem.scale, 1)), offset, 1);
}

bool is_constant_pool(const ZydisDecodedOperand& operand) { return operand.mem.base == ZYDIS_REGISTER_RIP; }

bool is_stack(size_t base) { return base == base_stack || base == base_aligned_stack; }

bool AbstractOperands::is_output(size_t base) const {
  if (base < base_param || base >= bases) return false;
  const ir::Param::Role to = role(base);
  return to == ir::Param::Role::output || to == ir::Param::Role::indices || to == ir::Param::Role::scratch;
}

bool AbstractOperands::depends_on_data(const ZydisDecodedOperand& operand, const AbstractState& state) const {
  if (operand.type == ZYDIS_OPERAND_TYPE_MEMORY)
    return is_memory(operand) ? loaded(operand, state).is_data : address(operand, state).is_data;
  if (operand.type != ZYDIS_OPERAND_TYPE_REGISTER) return false;
  // As the mask of an instruction k0 means that there is none.
  if (operand.encoding == ZYDIS_OPERAND_ENCODING_MASK && operand.reg.value == ZYDIS_REGISTER_K0) return false;
  const RegisterName name = name_of(operand.reg.value);
  switch (name.kind) {
    case RegisterKind::word:
      return state.words[name.number].is_data;
    case RegisterKind::vector:
      return (state.vectors[name.number] & lanes_of(name.bits)) != 0;
    case RegisterKind::mask:
      return state.masks[name.number] < AbstractState::mask_bits;
    default:
      return false;
  }
}

bool AbstractOperands::guards_by_data(const ZydisDecodedOperand& operand, int lanes,
                                      const AbstractState& state) const {
  const RegisterName name = name_of(operand.reg.value);
  return depends_on_data(operand, state) &&
         (name.kind != RegisterKind::mask || state.masks[name.number] < lanes);
}

// What a word of memory holds.
AbstractWord AbstractOperands::loaded(const ZydisDecodedOperand& operand, const AbstractState& state) const {
  if (is_constant_pool(operand)) return AbstractWord::number();
  const AbstractWord at = address(operand, state);
  const size_t base = at.base();
  if (base == base_args && at.is_exact && at.offset % 8 == 0) {
    const auto slot = static_cast<size_t>(at.offset / 8);
    if (slot < params_.size() && operand.size <= 64)
      return ir::is_index(params_[slot].role) ? AbstractWord::number()
                                              : AbstractWord::pointer(base_param + slot);
  }
  if (is_stack(base) && at.is_exact) return from_stack(base, at.offset, operand.size / 8, state);
  if (base >= base_param && base < bases && is_constant(role(base))) return AbstractWord::number();
  return AbstractWord::data();
}

AbstractWord from_stack(size_t base, int64_t offset, int64_t bytes, const AbstractState& state) {
  const int64_t first = (offset >> 3) * 8;
  AbstractWord word = AbstractWord::number();
  for (int64_t at = first; at < offset + bytes; at += 8) {
    const auto found = state.stack.find({base, at});
    if (found == state.stack.end()) return AbstractWord::data();
    const Slot& slot = found->second;
    if (bytes == 8 && first == offset) return slot.word;
    if ((slot.data_bytes & bytes_within(at, offset, bytes)) != 0) return AbstractWord::data();
    if (slot.word.has_left(word_bits)) return AbstractWord::left();
    if (slot.word.is_data || slot.word.has_base()) word = AbstractWord::mixed();
  }
  return word;
}

void to_stack(size_t base, int64_t offset, int64_t bytes, const AbstractWord& word, AbstractState& state) {
  const int64_t first = (offset >> 3) * 8;
  for (int64_t at = first; at < offset + bytes; at += 8) {
    const uint8_t written = bytes_within(at, offset, bytes);
    Slot& slot = state.stack[{base, at}];
    slot.data_bytes =
        static_cast<uint8_t>(word.is_data ? slot.data_bytes | written : slot.data_bytes & ~written);
    if (written == 0xff && bytes == 8)
      slot.word = word;
    else
      slot.word = slot.data_bytes != 0                                        ? AbstractWord::data()
                  : word.has_left(word_bits) || slot.word.has_left(word_bits) ? AbstractWord::left()
                                                                              : AbstractWord::mixed();
  }
}

void to_stack(size_t base, int64_t offset, int64_t bits, DataLanes lanes, AbstractState& state) {
  const auto is_data = [&](int64_t lane) { return ((lanes >> lane) & 1) != 0; };
  // What lies in a vector of several words may be a pointer; what is only a number is so by itself.
  const AbstractWord known = bits == 64 ? AbstractWord::number() : AbstractWord::mixed();
  for (int64_t lane = 0; lane < bits / 32;) {
    const bool is_whole =
        (offset + lane * 4) % 8 == 0 && (lane + 1) * 32 < bits && is_data(lane) == is_data(lane + 1);
    to_stack(base, offset + lane * 4, is_whole ? 8 : 4, is_data(lane) ? AbstractWord::data() : known, state);
    lane += is_whole ? 2 : 1;
  }
}

bool set(const ZydisDecodedOperand& operand, const AbstractWord& word, AbstractState& state) {
  if (operand.type == ZYDIS_OPERAND_TYPE_MEMORY) {
    const AbstractWord at = address(operand, state);
    if (is_stack(at.base())) to_stack(at.base(), at.offset, operand.size / 8, word, state);
    return true;
  }
  if (operand.type != ZYDIS_OPERAND_TYPE_REGISTER) return true;
  const RegisterName name = name_of(operand.reg.value);
  switch (name.kind) {
    case RegisterKind::word:
      set_word(name, word, state);
      break;
    case RegisterKind::vector:
      state.vectors[name.number] = word.is_data ? lanes_of(name.bits) : DataLanes{0};
      break;
    case RegisterKind::mask:
      state.masks[name.number] = word.is_data ? 0 : AbstractState::mask_bits;
      break;
    case RegisterKind::other:
      return false;
    case RegisterKind::flags:  // below
    case RegisterKind::none:
      break;
  }
  return true;
}

void set_flags(const Instruction& i, const AbstractWord& word, AbstractState& state) {
  if (!i.info.cpu_flags) return;
  const ZydisAccessedFlags& accessed = *i.info.cpu_flags;
  state.flags &= ~(accessed.modified | accessed.set_0 | accessed.set_1);
  if (word.is_data || word.has_left(word_bits)) state.flags |= accessed.modified;
  state.flags |= accessed.undefined;
}

bool asks_for_flags(const Instruction& i, const AbstractState& state) {
  return i.info.cpu_flags && (i.info.cpu_flags->tested & state.flags) != 0;
}

AbstractWord AbstractOperands::source(const ZydisDecodedOperand& operand, const AbstractState& state) const {
  switch (operand.type) {
    case ZYDIS_OPERAND_TYPE_IMMEDIATE:
      return AbstractWord::exact(operand.imm.value.s);
    case ZYDIS_OPERAND_TYPE_MEMORY:
      return is_memory(operand) ? loaded(operand, state) : address(operand, state);
    case ZYDIS_OPERAND_TYPE_REGISTER: {
      const RegisterName name = name_of(operand.reg.value);
      if (name.kind == RegisterKind::word) return state.words[name.number];
      return depends_on_data(operand, state) ? AbstractWord::data() : AbstractWord::mixed();
    }
    default:
      return AbstractWord::number();
  }
}

DataLanes AbstractOperands::data_lanes(const ZydisDecodedOperand& operand, const AbstractState& state) const {
  const RegisterName name =
      operand.type == ZYDIS_OPERAND_TYPE_REGISTER ? name_of(operand.reg.value) : RegisterName{};
  if (name.kind == RegisterKind::vector) return state.vectors[name.number] & lanes_of(name.bits);
  if (is_memory(operand)) {
    const AbstractWord at = address(operand, state);
    if (!is_constant_pool(operand) && is_stack(at.base()) && at.is_exact) {
      DataLanes lanes = 0;
      for (int64_t lane = 0; lane < operand.size / 32; ++lane)
        if (from_stack(at.base(), at.offset + lane * 4, 4, state).is_data)
          lanes |= static_cast<DataLanes>(1U << lane);
      return lanes;
    }
  }
  return depends_on_data(operand, state) ? lanes_of(512) : DataLanes{0};
}

}  // namespace pooljit::jit
