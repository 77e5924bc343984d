// Executes a kernel's machine code over a domain of bytes: numbers, or how they were made of input elements.
//
// Addresses, counts and flags are numbers, whatever the domain: where one depends on data, or an instruction
// has no row, it is refused. A domain has:
//   - Byte: of a register or of memory;
//   - constant(number): a Byte; known(Byte): its number, if it is one whatever the input is;
//   - lane(op, args, to): one lane; what compares is as wide as what is compared;
//   - bits(op, a, b, to, count): bytes;
//   - choose(mask, a, b, to, count, width): lanes of so many bytes, a where the mask's top bit is set, or b.
#pragma once

#include <string_view>

#include "jit/x86/steps.h"
#include "jit/x86/vectors.h"

namespace pooljit::jit::x86 {

// Thrown where code goes on for longer than was allowed.
struct TooManySteps {};

template <class Domain>
class Machine : public Vectors<Domain> {
 public:
  using Base = Vectors<Domain>;
  using Base::word_of, Base::words;
  using typename Base::Byte;

  // The code lies in `memory`, from `base` on.
  Machine(const Steps& steps, uint64_t base, Memory<Byte>& memory, Domain& domain)
      : Base(base, memory, domain), steps_(steps) {}

  // From the entry to the return; gives how many instructions that took. Throws Refused and TooManySteps.
  int64_t run(int64_t most_steps) {
    size_t at = steps_.entry();
    int64_t count = 0;
    try {
      for (; steps_[at].kind != Step::Kind::ret; ++count) {
        if (count == most_steps) throw TooManySteps{};
        at = next(steps_[at], at);
      }
    } catch (const Refused& refused) {
      throw Refused{steps_[at].instruction.offset, refused.why, refused.is_wrong};
    }
    return count;
  }

 private:
  // Executes it, and gives which comes next.
  size_t next(const Step& step, size_t at) {
    const Instruction& i = step.instruction;
    switch (step.kind) {
      case Step::Kind::vector:
        vector_step(i, *step.row);
        break;
      case Step::Kind::jump:
        return step.target;
      case Step::Kind::branch:
        return told(i.info.mnemonic) ? step.target : at + 1;
      case Step::Kind::zero_upper:
        for (size_t v = 0; v < 16; ++v)
          std::fill(this->vectors[v].begin() + 16, this->vectors[v].end(), domain_.constant(0));
        break;
      case Step::Kind::word:
        word_step(i);
        break;
      case Step::Kind::nothing:
      case Step::Kind::ret:
        break;
    }
    return at + 1;
  }

  using Operand = ZydisDecodedOperand;
  using Base::address, Base::bytes_of, Base::bytes_of_number, Base::domain_, Base::is_register, Base::memory_,
      Base::number;
  using Base::read, Base::rsp, Base::vector_step, Base::write, Base::zeros;
  using typename Base::Bytes;

  bool told(ZydisMnemonic mnemonic) const {
    const std::optional<bool> holds = condition(mnemonic, flags_);
    if (!holds) throw Refused{0, "a condition that its flags do not tell"};
    return *holds;
  }

  // --- general registers

  void word_step(const Instruction& i) {
    const auto mnemonic = i.info.mnemonic;
    if (i.info.encoding != ZYDIS_INSTRUCTION_ENCODING_LEGACY && mnemonic != ZYDIS_MNEMONIC_ANDN)
      throw Refused{0, "an instruction that has no row"};
    const Operand &to = i.operands[0], &from = i.operands[1];
    switch (mnemonic) {
      case ZYDIS_MNEMONIC_MOV:
      case ZYDIS_MNEMONIC_MOVZX:  // above what is read there are zeros
        return write(i, to, read(i, from));
      case ZYDIS_MNEMONIC_MOVSX:
      case ZYDIS_MNEMONIC_MOVSXD: {
        const int bits = from.size;
        const uint64_t value = number(read(i, from).data(), bits / 8);
        return write(i, to,
                     bytes_of_number(
                         static_cast<uint64_t>(static_cast<int64_t>(value << (64 - bits)) >> (64 - bits))));
      }
      case ZYDIS_MNEMONIC_LEA:
        return write(i, to, bytes_of_number(address(i, from)));
      case ZYDIS_MNEMONIC_PUSH:
        return push(read(i, to));
      case ZYDIS_MNEMONIC_POP:
        return write(i, to, pop());
      default:
        break;
    }
    if (std::string_view(ZydisMnemonicGetString(mnemonic)).starts_with("cmov")) {
      const bool holds = told(mnemonic);
      return write(i, to, read(i, holds ? from : to));
    }
    compute(i);
  }

  void compute(const Instruction& i) {
    const int count = i.info.operand_count_visible;
    const Operand& to = i.operands[0];
    const auto value = [&](int operand) {
      return number(read(i, i.operands[static_cast<size_t>(operand)]).data(), bytes_of(to));
    };
    // xor r, r is 0 whatever was there.
    const bool is_zero = i.info.mnemonic == ZYDIS_MNEMONIC_XOR && is_register(to) &&
                         is_register(i.operands[1]) && to.reg.value == i.operands[1].reg.value;
    const bool reads_to = reads(to) && !is_zero;
    const auto result =
        compute_word(i.info.mnemonic, to.size, reads_to ? value(0) : 0, count > 1 && !is_zero ? value(1) : 0,
                     count > 2 ? std::optional(value(2)) : std::nullopt, flags_);
    if (!result) throw Refused{0, "an instruction that has no row"};
    if (result->sets_flags) flags_ = result->flags;
    if (result->value) write(i, to, bytes_of_number(*result->value));
  }

  void push(const Bytes& bytes) {
    const uint64_t at = number(ZYDIS_REGISTER_RSP) - 8;
    memory_.store(at, 8, bytes.data());
    words[rsp] = word_of(at);
  }
  Bytes pop() {
    const uint64_t at = number(ZYDIS_REGISTER_RSP);
    Bytes bytes = zeros();
    memory_.load(at, 8, bytes.data());
    words[rsp] = word_of(at + 8);
    return bytes;
  }

  const Steps& steps_;
  Flags flags_;
};

}  // namespace pooljit::jit::x86
