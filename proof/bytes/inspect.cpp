#include "proof/bytes/inspect.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <optional>

#include "jit/decoder.h"
#include "jit/machine_code.h"
#include "proof/bytes/abstract_lanes.h"
#include "proof/bytes/abstract_operands.h"
#include "proof/bytes/abstract_state.h"

namespace pooljit::jit {
namespace {

enum class DataOp : uint8_t { move, choose, pick, compare, mask, bits, convert, add, scale, root };
struct DataOpRow {
  DataOp op;
  std::string_view prefix;
};
constexpr DataOpRow data_op_table[] = {
#define DATA_OP(op, prefix) {DataOp::op, prefix},
#include "proof/bytes/data_ops.def"
#undef DATA_OP
};

// Registers that a function keeps, as the System V ABI says: rbx, rbp, r12 to r15.
constexpr std::array<size_t, 6> kept_registers = {3, 5, 12, 13, 14, 15};
constexpr size_t rsp = 4, rdi = 7;

class Inspector {
 public:
  // Throws Refused.
  Inspector(const CodeBlob& blob, std::span<const ir::Param> params, bool reads_constants)
      : blob_(blob), code_(blob), operands_(params, reads_constants) {
    facts_.may_be_called = code_.instructions().at(code_.entry()).info.mnemonic == ZYDIS_MNEMONIC_ENDBR64;
    for (const auto& [at, i] : code_.instructions()) {
      ++facts_.instructions;
      facts_.branches += is_branch(i);
      facts_.addresses += std::ranges::count_if(i.all(), is_memory);
    }
  }

  // To a fixpoint, instruction by instruction. Throws Refused.
  CodeFacts run() {
    AbstractState first;
    first.words.fill(AbstractWord::left());
    first.masks.fill(0);
    first.words[rdi] = AbstractWord::pointer(base_args);
    first.words[rsp] = AbstractWord::pointer(base_stack);
    for (size_t i = 0; i < kept_registers.size(); ++i)
      first.words[kept_registers[i]] = AbstractWord::pointer(base_saved + i);
    std::map<size_t, AbstractState> states = {{code_.entry(), first}};
    std::deque<size_t> open = {code_.entry()};
    while (!open.empty()) {
      at_ = open.front();
      open.pop_front();
      AbstractState state = states.at(at_);
      const Instruction* i = &code_.instructions().at(at_);
      // A straight line needs no states in between.
      for (;;) {
        at_ = i->offset;
        step(*i, state);
        const std::vector<size_t> next = code_.successors(*i);
        if (next.size() == 1 && !code_.is_target(next[0])) {
          i = &code_.instructions().at(next[0]);
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
    return facts_;
  }

 private:
  void step(const Instruction& i, AbstractState& state) {
    const auto category = i.info.meta.category;
    if (category == ZYDIS_CATEGORY_RET) return check_return(state);
    if (category == ZYDIS_CATEGORY_COND_BR && asks_for_flags(i, state))
      throw Refused{at_, "a branch that depends on data"};
    if (i.info.mnemonic == ZYDIS_MNEMONIC_SFENCE) {
      state.is_fenced = true;
      return;
    }
    if (category == ZYDIS_CATEGORY_NOP || category == ZYDIS_CATEGORY_WIDENOP || is_branch(i)) return;
    if (i.info.encoding == ZYDIS_INSTRUCTION_ENCODING_LEGACY &&
        std::ranges::any_of(i.all(), is_written_vector))
      throw Refused{at_, "an instruction of SSE, which keeps what lies above its result"};
    for (const ZydisDecodedOperand& operand : i.all())
      if (is_memory(operand)) check_address(i, operand, state);
    if (std::string_view(ZydisMnemonicGetString(i.info.mnemonic)).find("movnt") != std::string_view::npos)
      state.is_fenced = false;
    if (moves_words(i, state) || moves_lanes(i, state) || spills_lanes(i, state)) return;
    generic(i, state);
  }

  void check_return(const AbstractState& state) const {
    if (state.words[rsp] != AbstractWord::pointer(base_stack))
      throw Refused{at_, "it returns with another stack pointer"};
    if (!state.is_fenced)
      throw Refused{at_, "it returns before others have to see what it stored past the caches"};
    for (size_t i = 0; i < kept_registers.size(); ++i)
      if (state.words[kept_registers[i]] != AbstractWord::pointer(base_saved + i))
        throw Refused{at_, "it returns with a register changed that it has to keep"};
  }

  // --- addresses

  void check_address(const Instruction& i, const ZydisDecodedOperand& operand, const AbstractState& state) {
    if (name_of(operand.mem.index).kind == RegisterKind::vector)
      throw Refused{at_, "an address from a vector register"};
    const AbstractWord at = address(operand, state);
    if (at.is_data) throw Refused{at_, "an address that depends on data"};
    if (at.has_left(word_bits)) throw Refused{at_, "an address from a register that nothing was written to"};
    if (!writes(operand)) return;
    const size_t base = at.base();
    if (is_constant_pool(operand) || (!at.is_mixed && !is_stack(base) && !operands_.is_output(base)))
      throw Refused{at_, "a write to what is no output"};
    if (is_stack(base) && !at.is_exact)
      throw Refused{at_, "a write to a place of the stack that is not known"};
    for (const ZydisDecodedOperand& mask : i.all())
      if (guards(i, mask) && operands_.guards_by_data(mask, operand.element_count, state))
        throw Refused{at_, "a mask that depends on data guards memory"};
  }

  static bool is_written_vector(const ZydisDecodedOperand& operand) {
    return operand.type == ZYDIS_OPERAND_TYPE_REGISTER && writes(operand) &&
           name_of(operand.reg.value).kind == RegisterKind::vector;
  }

  // Operands that say which lanes of memory an instruction touches.
  static bool guards(const Instruction& i, const ZydisDecodedOperand& operand) {
    if (operand.type != ZYDIS_OPERAND_TYPE_REGISTER || !reads(operand)) return false;
    if (operand.encoding == ZYDIS_OPERAND_ENCODING_MASK) return true;
    const std::string_view mnemonic = ZydisMnemonicGetString(i.info.mnemonic);
    return mnemonic.find("maskmov") != std::string_view::npos && operand.id == 1;
  }

  void write(const ZydisDecodedOperand& operand, const AbstractWord& word, AbstractState& state) const {
    if (!set(operand, word, state)) throw Refused{at_, "a register that kernels have no use for"};
  }

  void write_with_flags(const Instruction& i, const AbstractWord& result, AbstractState& state) const {
    write(i.operands[0], result, state);
    set_flags(i, result, state);
  }

  // Instructions on words whose bases are followed. False: it is none of them.
  bool moves_words(const Instruction& i, AbstractState& state) {
    const auto& ops = i.operands;
    switch (i.info.mnemonic) {
      case ZYDIS_MNEMONIC_MOV:
      case ZYDIS_MNEMONIC_LEA:
        write(ops[0], operands_.source(ops[1], state), state);
        return true;
      case ZYDIS_MNEMONIC_PUSH: {
        const AbstractWord value = operands_.source(ops[0], state);
        state.words[rsp] = plus(state.words[rsp], AbstractWord::exact(-8), 1);
        const AbstractWord at = state.words[rsp];
        if (!at.is_exact) throw Refused{at_, "a stack pointer that is not known"};
        to_stack(at.base(), at.offset, 8, value, state);
        return true;
      }
      case ZYDIS_MNEMONIC_POP: {
        const AbstractWord at = state.words[rsp];
        if (!at.is_exact || !is_stack(at.base())) throw Refused{at_, "a stack pointer that is not known"};
        const AbstractWord value = from_stack(at.base(), at.offset, 8, state);
        state.words[rsp] = plus(at, AbstractWord::exact(8), 1);
        write(ops[0], value, state);
        return true;
      }
      case ZYDIS_MNEMONIC_ADD:
      case ZYDIS_MNEMONIC_SUB:
        write_with_flags(i,
                         plus(operands_.source(ops[0], state), operands_.source(ops[1], state),
                              i.info.mnemonic == ZYDIS_MNEMONIC_ADD ? 1 : -1),
                         state);
        return true;
      case ZYDIS_MNEMONIC_INC:
      case ZYDIS_MNEMONIC_DEC:
        write_with_flags(i, plus(operands_.source(ops[0], state), AbstractWord::number(), 1), state);
        return true;
      case ZYDIS_MNEMONIC_AND:
        // Aligns the stack: a new frame, somewhere below.
        if (name_of(ops[0].reg.value).number == rsp && ops[0].type == ZYDIS_OPERAND_TYPE_REGISTER &&
            ops[1].type == ZYDIS_OPERAND_TYPE_IMMEDIATE && state.words[rsp].base() == base_stack) {
          state.words[rsp] = AbstractWord::pointer(base_aligned_stack);
          set_flags(i, AbstractWord::number(), state);
          return true;
        }
        return false;
      case ZYDIS_MNEMONIC_KMOVW:
        return moves_to_mask(i, 16, state);
      case ZYDIS_MNEMONIC_KMOVD:
        return moves_to_mask(i, 32, state);
      default:
        break;
    }
    if (i.info.meta.category != ZYDIS_CATEGORY_CMOV) return false;
    AbstractWord result = either(operands_.source(ops[0], state), operands_.source(ops[1], state));
    if (asks_for_flags(i, state)) result = AbstractWord::data();
    write(ops[0], result, state);
    return true;
  }

  // So many bits of a word become a mask. False: it moves something else.
  static bool moves_to_mask(const Instruction& i, int bits, AbstractState& state) {
    if (is_memory(i.operands[0]) || is_memory(i.operands[1])) return false;
    const RegisterName from = name_of(i.operands[1].reg.value), to = name_of(i.operands[0].reg.value);
    if (from.kind != RegisterKind::word || to.kind != RegisterKind::mask) return false;
    const AbstractWord& word = state.words[from.number];
    const bool is_clean = !word.is_data || word.clean_bits >= bits;
    state.masks[to.number] = is_clean ? AbstractState::mask_bits : word.clean_bits;
    return true;
  }

  // False: no instruction that is known lane by lane.
  bool moves_lanes(const Instruction& i, AbstractState& state) {
    const auto result = result_lanes(i, operands_, state);
    if (!result) return false;
    if (result->touches) note(i, state);
    state.vectors[name_of(i.operands[0].reg.value).number] = result->lanes;
    return true;
  }

  // A vector that is stored to the stack, to be read again. False: it is no such instruction.
  bool spills_lanes(const Instruction& i, AbstractState& state) {
    const auto lanes = stored_lanes(i, operands_, state);
    if (!lanes) return false;
    const AbstractWord at = address(i.operands[0], state);
    if (!is_stack(at.base())) return false;
    if (*lanes != 0) note(i, state);
    to_stack(at.base(), at.offset, i.operands[0].size, *lanes, state);
    return true;
  }

  // Everything that is written depends on everything that is read; words forget what they are made of.
  void generic(const Instruction& i, AbstractState& state) {
    bool is_data = false, has_base = false, has_left = false;
    if (!clears(i)) {
      for (const ZydisDecodedOperand& operand : i.all()) {
        if (!reads(operand) && !may_keep(operand)) continue;
        is_data = is_data || operands_.depends_on_data(operand, state);
        const RegisterName name =
            operand.type == ZYDIS_OPERAND_TYPE_REGISTER ? name_of(operand.reg.value) : RegisterName{};
        if (name.kind != RegisterKind::word) continue;
        has_base = has_base || state.words[name.number].has_base();
        has_left = has_left || state.words[name.number].has_left(name.bits);
      }
      is_data = is_data || asks_for_flags(i, state);
    }
    const AbstractWord result = is_data    ? AbstractWord::data()
                                : has_left ? AbstractWord::left()
                                : has_base ? AbstractWord::mixed()
                                           : AbstractWord::number();
    if (is_data) note(i, state);
    for (const ZydisDecodedOperand& operand : i.all())
      if (writes(operand)) write(operand, result, state);
    set_flags(i, result, state);
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

  void note(const Instruction& i, const AbstractState& state) {
    const bool is_word = std::ranges::all_of(i.all(), [](const ZydisDecodedOperand& operand) {
      return operand.type != ZYDIS_OPERAND_TYPE_REGISTER ||
             name_of(operand.reg.value).kind == RegisterKind::word ||
             name_of(operand.reg.value).kind == RegisterKind::flags;
    });
    if (is_word) return;
    const std::string_view mnemonic = ZydisMnemonicGetString(i.info.mnemonic);
    const auto* const row = std::ranges::find_if(
        data_op_table, [&](const DataOpRow& each) { return mnemonic.starts_with(each.prefix); });
    if (row == std::end(data_op_table)) throw Refused{at_, "an instruction that is not known to touch data"};
    facts_.computes =
        facts_.computes || row->op == DataOp::add || row->op == DataOp::scale || row->op == DataOp::root;
    if (row->op == DataOp::scale) note_factors(i, mnemonic, state);
  }

  // What is multiplied: the last two vectors that are read; of a fused operation, as the digits in its name
  // say.
  void note_factors(const Instruction& i, std::string_view mnemonic, const AbstractState& state) {
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
    if (factors.size() != 2) throw Refused{at_, "factors that are not known"};
    // Of vmulss and the like the lanes that are multiplied.
    const DataLanes multiplied = mnemonic.ends_with("ss")   ? 0b1
                                 : mnemonic.ends_with("sd") ? 0b11
                                                            : lanes_of(512);
    for (const ZydisDecodedOperand* factor : factors)
      if ((operands_.data_lanes(*factor, state) & multiplied) == 0) return;
    const bool is_square = !is_memory(*factors[0]) && !is_memory(*factors[1]) &&
                           factors[0]->reg.value == factors[1]->reg.value && mnemonic.substr(0, 4) != "vdiv";
    (is_square ? facts_.squares : facts_.products) = true;
    if (!is_square && facts_.product.empty())
      facts_.product = fmt::format("0x{:x} ({})", at_, text_of(blob_.code, at_));
  }

  const CodeBlob& blob_;
  const DecodedCode code_;
  const AbstractOperands operands_;
  CodeFacts facts_;
  size_t at_ = 0;
};

}  // namespace

ir::Result<CodeFacts> inspect(const CodeBlob& blob, std::span<const ir::Param> params) {
  if (auto found = require_decoder(); !found) return tl::unexpected(found.error());
  try {
    CodeFacts facts = Inspector(blob, params, false).run();
    const auto is_operand = [](const ir::Param& param) { return param.role == ir::Param::Role::operand; };
    if (std::ranges::none_of(params, is_operand)) return facts;
    // A step may multiply by its operand: what counts is whether elements are multiplied with each other.
    const CodeFacts of_input = Inspector(blob, params, true).run();
    facts.products = of_input.products;
    facts.product = of_input.product;
    facts.squares = of_input.squares;
    return facts;
  } catch (const Refused& refused) {
    return ir::invalid("prove.code", fmt::format("at 0x{:x} ({}): {}", refused.at,
                                                 text_of(blob.code, refused.at), refused.why));
  }
}

}  // namespace pooljit::jit
