#include "jit/inspect.h"

#include <Zydis/Zydis.h>
#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <optional>
#include <set>

#include "ir/op_rules.h"
#include "jit/abstract_state.h"

namespace pooljit::jit {
namespace {

struct DataOpRow {
  DataOp op;
  std::string_view prefix;
};
constexpr DataOpRow data_op_table[] = {
#define DATA_OP(op, prefix) {DataOp::op, prefix},
#include "jit/data_ops.def"
#undef DATA_OP
};

std::optional<DataOp> find_data_op(std::string_view mnemonic) {
  for (const DataOpRow& row : data_op_table)
    if (mnemonic.substr(0, row.prefix.size()) == row.prefix) return row.op;
  return std::nullopt;
}

// Thrown where the code does what it must not; the caller adds where.
struct Refused {
  std::string why;
};

struct Instruction {
  size_t offset = 0;
  ZydisDecodedInstruction info{};
  std::array<ZydisDecodedOperand, ZYDIS_MAX_OPERAND_COUNT> operands{};

  std::span<const ZydisDecodedOperand> all() const { return {operands.data(), info.operand_count}; }
  size_t end() const { return offset + info.length; }
};

enum class RegisterKind : uint8_t { none, word, vector, mask, flags, other };
struct RegisterName {
  RegisterKind kind = RegisterKind::none;
  size_t number = 0;
  int bits = 0;
};

RegisterName name_of(ZydisRegister reg) {
  if (reg == ZYDIS_REGISTER_NONE) return {};
  const ZydisRegisterClass cls = ZydisRegisterGetClass(reg);
  const auto number = static_cast<size_t>(ZydisRegisterGetId(reg));
  switch (cls) {
    case ZYDIS_REGCLASS_GPR8:
      // ah to bh are parts of rax to rbx.
      if (reg >= ZYDIS_REGISTER_AH && reg <= ZYDIS_REGISTER_BH)
        return {RegisterKind::word, static_cast<size_t>(reg - ZYDIS_REGISTER_AH), 8};
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
    case ZYDIS_REGCLASS_YMM:
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

// Registers that a function keeps, as the System V ABI says: rbx, rbp, r12 to r15.
constexpr std::array<size_t, 6> kept_registers = {3, 5, 12, 13, 14, 15};
constexpr size_t rsp = 4, rdi = 7;

class Inspector {
 public:
  Inspector(const CodeBlob& blob, std::span<const ir::Param> params) : blob_(blob), params_(params) {}

  ir::Result<CodeFacts> run() {
    try {
      decode_reachable();
      interpret();
      return facts_;
    } catch (const Refused& refused) {
      return ir::invalid("prove.code", fmt::format("at 0x{:x} ({}): {}", at_, text(at_), refused.why));
    }
  }

 private:
  // --- decoding

  std::string text(size_t offset) const {
    ZydisDisassembledInstruction instruction;
    const auto rest = blob_.code.subspan(std::min(offset, blob_.code.size()));
    if (!ZYAN_SUCCESS(ZydisDisassembleIntel(ZYDIS_MACHINE_MODE_LONG_64, offset, rest.data(), rest.size(),
                                            &instruction)))
      return "no instruction";
    return instruction.text;
  }

  Instruction decode(size_t offset) const {
    Instruction instruction;
    instruction.offset = offset;
    ZydisDecoder decoder;
    ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
    const auto rest = blob_.code.subspan(offset);
    if (!ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoder, rest.data(), rest.size(), &instruction.info,
                                             instruction.operands.data())))
      throw Refused{"this is no instruction"};
    return instruction;
  }

  static bool is_branch(const Instruction& i) {
    return i.info.meta.category == ZYDIS_CATEGORY_COND_BR || i.info.meta.category == ZYDIS_CATEGORY_UNCOND_BR;
  }

  size_t target(const Instruction& branch) const {
    const ZydisDecodedOperand& to = branch.operands[0];
    if (to.type != ZYDIS_OPERAND_TYPE_IMMEDIATE || !to.imm.is_relative) throw Refused{"an indirect branch"};
    const int64_t offset = static_cast<int64_t>(branch.end()) + to.imm.value.s;
    if (offset < 0 || offset >= std::ssize(blob_.code)) throw Refused{"a branch out of the code"};
    return static_cast<size_t>(offset);
  }

  // Where control goes from an instruction.
  std::vector<size_t> successors(const Instruction& i) const {
    if (i.info.meta.category == ZYDIS_CATEGORY_RET) return {};
    if (!is_branch(i)) return {i.end()};
    if (i.info.meta.category == ZYDIS_CATEGORY_UNCOND_BR) return {target(i)};
    return {i.end(), target(i)};
  }

  void decode_reachable() {
    std::vector<size_t> open = {
        static_cast<size_t>(reinterpret_cast<const uint8_t*>(blob_.entry) - blob_.code.data())};
    entry_ = open[0];
    while (!open.empty()) {
      at_ = open.back();
      open.pop_back();
      if (at_ >= blob_.code.size()) throw Refused{"control leaves the code"};
      const auto [slot, is_new] = instructions_.try_emplace(at_);
      if (!is_new) continue;
      slot->second = decode(at_);
      const Instruction& i = slot->second;
      const auto category = i.info.meta.category;
      if (category == ZYDIS_CATEGORY_CALL || category == ZYDIS_CATEGORY_SYSCALL ||
          category == ZYDIS_CATEGORY_INTERRUPT || category == ZYDIS_CATEGORY_SYSTEM)
        throw Refused{"it leaves the kernel"};
      const bool is_stringop = category == ZYDIS_CATEGORY_STRINGOP;
      if (is_stringop || i.info.meta.category == ZYDIS_CATEGORY_GATHER ||
          i.info.meta.category == ZYDIS_CATEGORY_SCATTER)
        throw Refused{"addresses that are not in the instruction's operands"};
      ++facts_.instructions;
      if (is_branch(i)) ++facts_.branches;
      facts_.addresses += std::ranges::count_if(i.all(), is_memory);
      for (size_t next : successors(i)) open.push_back(next);
      // Nobody jumps into the middle of an instruction.
      const auto after = instructions_.upper_bound(at_);
      if (after != instructions_.end() && after->first < i.end()) throw Refused{"instructions overlap"};
      const auto before = instructions_.find(at_);
      if (before != instructions_.begin() && std::prev(before)->second.end() > at_)
        throw Refused{"instructions overlap"};
    }
  }

  // --- abstract interpretation to a fixpoint, instruction by instruction

  void interpret() {
    State first;
    for (Word& word : first.words) word = Word::mixed();
    first.words[rdi] = Word::pointer(base_args);
    first.words[rsp] = Word::pointer(base_stack);
    for (size_t i = 0; i < kept_registers.size(); ++i)
      first.words[kept_registers[i]] = Word::pointer(base_saved + i);
    std::map<size_t, State> states = {{entry_, first}};
    std::deque<size_t> open = {entry_};
    while (!open.empty()) {
      at_ = open.front();
      open.pop_front();
      State state = states.at(at_);
      const Instruction* i = &instructions_.at(at_);
      // A straight line needs no states in between.
      for (;;) {
        at_ = i->offset;
        step(*i, state);
        const std::vector<size_t> next = successors(*i);
        if (next.size() == 1 && !is_target(next[0])) {
          i = &instructions_.at(next[0]);
          continue;
        }
        for (size_t to : next) {
          const auto [known, is_new] = states.try_emplace(to, state);
          if ((is_new || known->second.join(state)) && std::ranges::find(open, to) == open.end())
            open.push_back(to);
        }
        break;
      }
    }
  }

  bool is_target(size_t offset) {
    if (targets_.empty())
      for (const auto& [at, i] : instructions_)
        if (is_branch(i)) targets_.insert(target(i));
    return targets_.contains(offset);
  }

  void step(const Instruction& i, State& state) {
    const auto category = i.info.meta.category;
    if (category == ZYDIS_CATEGORY_RET) return check_return(state);
    if (category == ZYDIS_CATEGORY_COND_BR && state.flags) throw Refused{"a branch that depends on data"};
    if (category == ZYDIS_CATEGORY_NOP || category == ZYDIS_CATEGORY_WIDENOP || is_branch(i)) return;
    for (const ZydisDecodedOperand& operand : i.all())
      if (is_memory(operand)) check_address(i, operand, state);
    if (moves_words(i, state) || moves_halves(i, state)) return;
    generic(i, state);
  }

  void check_return(const State& state) const {
    if (state.words[rsp] != Word::pointer(base_stack)) throw Refused{"it returns with another stack pointer"};
    for (size_t i = 0; i < kept_registers.size(); ++i)
      if (state.words[kept_registers[i]] != Word::pointer(base_saved + i))
        throw Refused{"it returns with a register changed that it has to keep"};
  }

  // --- addresses

  Word word_of(ZydisRegister reg, const State& state) const {
    const RegisterName name = name_of(reg);
    return name.kind == RegisterKind::word ? state.words[name.number] : Word::exact(0);
  }

  Word address(const ZydisDecodedOperand& operand, const State& state) const {
    if (operand.mem.base == ZYDIS_REGISTER_RIP) return Word::number();
    const Word base = word_of(operand.mem.base, state), index = word_of(operand.mem.index, state);
    const Word offset = Word::exact(operand.mem.disp.has_displacement ? operand.mem.disp.value : 0);
    return plus(plus(base, index, std::max<int64_t>(operand.mem.scale, 1)), offset, 1);
  }

  bool is_constant_pool(const ZydisDecodedOperand& operand) const {
    return operand.mem.base == ZYDIS_REGISTER_RIP;
  }

  static bool is_stack(size_t base) { return base == base_stack || base == base_aligned_stack; }

  ir::Param::Role role(size_t base) const { return params_[base - base_param].role; }
  bool is_output(size_t base) const {
    return base >= base_param && base < bases &&
           (role(base) == ir::Param::Role::output || role(base) == ir::Param::Role::indices);
  }

  void check_address(const Instruction& i, const ZydisDecodedOperand& operand, const State& state) {
    if (name_of(operand.mem.index).kind == RegisterKind::vector)
      throw Refused{"an address from a vector register"};
    const Word at = address(operand, state);
    if (at.is_data) throw Refused{"an address that depends on data"};
    if (!writes(operand)) return;
    const size_t base = at.base();
    if (is_constant_pool(operand) || (!at.is_mixed && !is_stack(base) && !is_output(base)))
      throw Refused{"a write to what is no output"};
    if (is_stack(base) && !at.is_exact) throw Refused{"a write to a place of the stack that is not known"};
    for (const ZydisDecodedOperand& mask : i.all())
      if (guards(i, mask) && depends_on_data(mask, state))
        throw Refused{"a mask that depends on data guards memory"};
  }

  // Operands that say which lanes of memory an instruction touches.
  static bool guards(const Instruction& i, const ZydisDecodedOperand& operand) {
    if (operand.type != ZYDIS_OPERAND_TYPE_REGISTER || !reads(operand)) return false;
    if (operand.encoding == ZYDIS_OPERAND_ENCODING_MASK) return true;
    const std::string_view mnemonic = ZydisMnemonicGetString(i.info.mnemonic);
    return mnemonic.find("maskmov") != std::string_view::npos && operand.id == 1;
  }

  // --- data flow

  bool depends_on_data(const ZydisDecodedOperand& operand, const State& state) const {
    if (operand.type == ZYDIS_OPERAND_TYPE_MEMORY)
      return is_memory(operand) ? loaded(operand, state).is_data : address(operand, state).is_data;
    if (operand.type != ZYDIS_OPERAND_TYPE_REGISTER) return false;
    // As the mask of an instruction k0 means that there is none.
    if (operand.encoding == ZYDIS_OPERAND_ENCODING_MASK && operand.reg.value == ZYDIS_REGISTER_K0)
      return false;
    const RegisterName name = name_of(operand.reg.value);
    switch (name.kind) {
      case RegisterKind::word:
        return state.words[name.number].is_data;
      case RegisterKind::vector:
        return state.vectors[name.number];
      case RegisterKind::mask:
        return state.masks[name.number];
      case RegisterKind::flags:
        return state.flags;
      default:
        return false;
    }
  }

  // What a word of memory holds.
  Word loaded(const ZydisDecodedOperand& operand, const State& state) const {
    if (is_constant_pool(operand)) return Word::number();
    const Word at = address(operand, state);
    const size_t base = at.base();
    if (base == base_args && at.is_exact && at.offset % 8 == 0) {
      const auto slot = static_cast<size_t>(at.offset / 8);
      if (slot < params_.size() && operand.size <= 64)
        return ir::is_index(params_[slot].role) ? Word::number() : Word::pointer(base_param + slot);
    }
    if (is_stack(base) && at.is_exact) return from_stack(base, at.offset, operand.size / 8, state);
    if (base >= base_param && base < bases && role(base) == ir::Param::Role::table) return Word::number();
    return Word::data();
  }

  static Word from_stack(size_t base, int64_t offset, int64_t bytes, const State& state) {
    const int64_t first = (offset >> 3) * 8;
    Word word = Word::number();
    for (int64_t at = first; at < offset + bytes; at += 8) {
      const auto slot = state.stack.find({base, at});
      if (slot == state.stack.end()) return Word::data();
      if (bytes == 8 && first == offset) return slot->second;
      if (slot->second.is_data) return Word::data();
      if (slot->second.has_base()) word = Word::mixed();
    }
    return word;
  }

  static void to_stack(size_t base, int64_t offset, int64_t bytes, const Word& word, State& state) {
    const int64_t first = (offset >> 3) * 8;
    for (int64_t at = first; at < offset + bytes; at += 8) {
      const bool is_whole = at >= offset && at + 8 <= offset + bytes;
      Word& slot = state.stack[{base, at}];
      if (is_whole && bytes == 8)
        slot = word;
      else if (is_whole)
        slot = word.is_data ? Word::data() : Word::mixed();
      else
        slot = word.is_data || slot.is_data ? Word::data() : Word::mixed();
    }
  }

  void set(const ZydisDecodedOperand& operand, const Word& word, State& state) {
    if (operand.type == ZYDIS_OPERAND_TYPE_MEMORY) {
      const Word at = address(operand, state);
      if (is_stack(at.base())) to_stack(at.base(), at.offset, operand.size / 8, word, state);
      return;
    }
    if (operand.type != ZYDIS_OPERAND_TYPE_REGISTER) return;
    const RegisterName name = name_of(operand.reg.value);
    switch (name.kind) {
      case RegisterKind::word:
        set_word(name, word, state);
        break;
      case RegisterKind::vector:
        state.vectors[name.number] = state.lows[name.number] = word.is_data;
        break;
      case RegisterKind::mask:
        state.masks[name.number] = word.is_data;
        break;
      case RegisterKind::flags:
        state.flags = word.is_data;
        break;
      case RegisterKind::other:
        throw Refused{"a register that kernels have no use for"};
      case RegisterKind::none:
        break;
    }
  }

  static void set_word(const RegisterName& name, const Word& word, State& state) {
    Word& to = state.words[name.number];
    if (name.bits == 64)
      to = word;
    else if (name.bits == 32)
      to = word.is_data ? Word::data() : word.has_base() ? Word::mixed() : word;
    else
      to = word.is_data || to.is_data ? Word::data() : Word::mixed();
  }

  // The value of a source operand of word arithmetic.
  Word source(const ZydisDecodedOperand& operand, const State& state) const {
    switch (operand.type) {
      case ZYDIS_OPERAND_TYPE_IMMEDIATE:
        return Word::exact(operand.imm.value.s);
      case ZYDIS_OPERAND_TYPE_MEMORY:
        return is_memory(operand) ? loaded(operand, state) : address(operand, state);
      case ZYDIS_OPERAND_TYPE_REGISTER: {
        const RegisterName name = name_of(operand.reg.value);
        if (name.kind == RegisterKind::word) return state.words[name.number];
        return depends_on_data(operand, state) ? Word::data() : Word::mixed();
      }
      default:
        return Word::number();
    }
  }

  // Instructions on words whose bases are followed. False: it is none of them.
  bool moves_words(const Instruction& i, State& state) {
    const auto& ops = i.operands;
    const auto set_flags = [&](bool is_data) { state.flags = is_data; };
    switch (i.info.mnemonic) {
      case ZYDIS_MNEMONIC_MOV:
      case ZYDIS_MNEMONIC_LEA:
        set(ops[0], source(ops[1], state), state);
        return true;
      case ZYDIS_MNEMONIC_PUSH: {
        const Word value = source(ops[0], state);
        state.words[rsp] = plus(state.words[rsp], Word::exact(-8), 1);
        const Word at = state.words[rsp];
        if (!at.is_exact) throw Refused{"a stack pointer that is not known"};
        to_stack(at.base(), at.offset, 8, value, state);
        return true;
      }
      case ZYDIS_MNEMONIC_POP: {
        const Word at = state.words[rsp];
        if (!at.is_exact || !is_stack(at.base())) throw Refused{"a stack pointer that is not known"};
        const Word value = from_stack(at.base(), at.offset, 8, state);
        state.words[rsp] = plus(at, Word::exact(8), 1);
        set(ops[0], value, state);
        return true;
      }
      case ZYDIS_MNEMONIC_ADD:
      case ZYDIS_MNEMONIC_SUB: {
        const Word result = plus(source(ops[0], state), source(ops[1], state),
                                 i.info.mnemonic == ZYDIS_MNEMONIC_ADD ? 1 : -1);
        set(ops[0], result, state);
        set_flags(result.is_data);
        return true;
      }
      case ZYDIS_MNEMONIC_INC:
      case ZYDIS_MNEMONIC_DEC: {
        const Word result = plus(source(ops[0], state), Word::number(), 1);
        set(ops[0], result, state);
        set_flags(result.is_data || state.flags);  // the carry stays
        return true;
      }
      case ZYDIS_MNEMONIC_AND:
        // Aligns the stack: a new frame, somewhere below.
        if (name_of(ops[0].reg.value).number == rsp && ops[0].type == ZYDIS_OPERAND_TYPE_REGISTER &&
            ops[1].type == ZYDIS_OPERAND_TYPE_IMMEDIATE && state.words[rsp].base() == base_stack) {
          state.words[rsp] = Word::pointer(base_aligned_stack);
          set_flags(false);
          return true;
        }
        return false;
      default:
        break;
    }
    if (i.info.meta.category == ZYDIS_CATEGORY_CMOV) {
      Word result = either(source(ops[0], state), source(ops[1], state));
      if (state.flags) result = Word::data();
      set(ops[0], result, state);
      return true;
    }
    return false;
  }

  bool low_depends_on_data(const ZydisDecodedOperand& operand, const State& state) const {
    if (operand.type != ZYDIS_OPERAND_TYPE_REGISTER) return depends_on_data(operand, state);
    return state.lows[name_of(operand.reg.value).number];
  }

  // A converted word goes to the low half of a vector, whose high half is whatever lay in another register;
  // halves of two such are joined. LLVM makes divisors so, and the other register may hold data. False: it is
  // neither.
  bool moves_halves(const Instruction& i, State& state) const {
    const auto& ops = i.operands;
    const bool converts = i.info.mnemonic == ZYDIS_MNEMONIC_VCVTSI2SD;
    const bool joins = i.info.mnemonic == ZYDIS_MNEMONIC_VUNPCKLPD && ops[0].size == 128;
    if (!converts && !joins) return false;
    const bool low = converts ? depends_on_data(ops[2], state) : low_depends_on_data(ops[1], state);
    const bool high = converts ? depends_on_data(ops[1], state) : low_depends_on_data(ops[2], state);
    if (converts ? low : low || high) return false;  // the data's own way
    const size_t to = name_of(ops[0].reg.value).number;
    state.lows[to] = low;
    state.vectors[to] = low || high;
    return true;
  }

  // Everything that is written depends on everything that is read; words forget what they are made of.
  void generic(const Instruction& i, State& state) {
    bool is_data = false, has_base = false;
    if (!clears(i)) {
      for (const ZydisDecodedOperand& operand : i.all()) {
        if (!reads(operand) && !may_keep(operand)) continue;
        is_data = is_data || depends_on_data(operand, state);
        const RegisterName name =
            operand.type == ZYDIS_OPERAND_TYPE_REGISTER ? name_of(operand.reg.value) : RegisterName{};
        has_base = has_base || (name.kind == RegisterKind::word && state.words[name.number].has_base());
      }
      if (i.info.cpu_flags && i.info.cpu_flags->tested != 0) is_data = is_data || state.flags;
    }
    const Word result = is_data ? Word::data() : has_base ? Word::mixed() : Word::number();
    if (is_data) note(i, state);
    for (const ZydisDecodedOperand& operand : i.all())
      if (writes(operand)) set(operand, result, state);
  }

  // xor of a register with itself.
  static bool clears(const Instruction& i) {
    const std::string_view mnemonic = ZydisMnemonicGetString(i.info.mnemonic);
    if (mnemonic.find("xor") == std::string_view::npos) return false;
    const size_t last = i.info.operand_count_visible;
    if (last < 2) return false;
    const auto &a = i.operands[last - 1], &b = i.operands[last - 2];
    return a.type == ZYDIS_OPERAND_TYPE_REGISTER && b.type == ZYDIS_OPERAND_TYPE_REGISTER &&
           a.reg.value == b.reg.value;
  }

  void note(const Instruction& i, const State& state) {
    const std::string_view mnemonic = ZydisMnemonicGetString(i.info.mnemonic);
    const bool is_word = std::ranges::all_of(i.all(), [](const ZydisDecodedOperand& operand) {
      return operand.type != ZYDIS_OPERAND_TYPE_REGISTER ||
             name_of(operand.reg.value).kind == RegisterKind::word ||
             name_of(operand.reg.value).kind == RegisterKind::flags;
    });
    if (is_word) return;
    const auto op = find_data_op(mnemonic);
    if (!op) throw Refused{"an instruction that is not known to touch data"};
    facts_.data_ops |= uint32_t{1} << static_cast<int>(*op);
    if (*op == DataOp::scale) note_factors(i, mnemonic, state);
  }

  // What is multiplied: the last two vectors that are read; of a fused operation, as the digits in its name
  // say.
  void note_factors(const Instruction& i, std::string_view mnemonic, const State& state) {
    std::vector<const ZydisDecodedOperand*> factors;
    for (const ZydisDecodedOperand& operand : i.all())
      if (operand.visibility == ZYDIS_OPERAND_VISIBILITY_EXPLICIT &&
          (is_memory(operand) || name_of(operand.reg.value).kind == RegisterKind::vector))
        factors.push_back(&operand);
    const bool is_fused = mnemonic.substr(0, 3) == "vfm" || mnemonic.substr(0, 3) == "vfn";
    const size_t digit = mnemonic.find_first_of("123");
    if (is_fused && digit != std::string_view::npos && factors.size() == 3)
      factors = {factors[size_t(mnemonic[digit] - '1')], factors[size_t(mnemonic[digit + 1] - '1')]};
    else if (factors.size() == 3)
      factors.erase(factors.begin());
    if (factors.size() != 2) throw Refused{"factors that are not known"};
    const bool is_scalar = mnemonic.ends_with("sd") || mnemonic.ends_with("ss");
    for (const ZydisDecodedOperand* factor : factors)
      if (!(is_scalar ? low_depends_on_data(*factor, state) : depends_on_data(*factor, state))) return;
    const bool is_square = !is_memory(*factors[0]) && !is_memory(*factors[1]) &&
                           factors[0]->reg.value == factors[1]->reg.value && mnemonic.substr(0, 4) != "vdiv";
    (is_square ? facts_.squares : facts_.products) = true;
    if (!is_square && facts_.product.empty()) facts_.product = fmt::format("0x{:x} ({})", at_, text(at_));
  }

  const CodeBlob& blob_;
  std::span<const ir::Param> params_;
  std::map<size_t, Instruction> instructions_;
  std::set<size_t> targets_;
  CodeFacts facts_;
  size_t entry_ = 0, at_ = 0;
};

}  // namespace

ir::Result<CodeFacts> inspect(const CodeBlob& blob, std::span<const ir::Param> params) {
  return Inspector(blob, params).run();
}

}  // namespace pooljit::jit
