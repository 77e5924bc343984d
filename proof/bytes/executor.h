// Executes a kernel's machine code over a domain of bytes: numbers, or how they were made of input elements.
//
// Addresses, counts and flags are numbers, whatever the domain: where one depends on data, or an instruction
// has no row, it is refused. A domain has:
//   - Byte: of a register or of memory;
//   - constant(number): a Byte; known(Byte): its number, if it is one whatever the input is;
//   - unwritten(number): what the byte of that number, of all vectors' and masks', held before the call;
//     is_unwritten(Byte): whether it was made of such;
//   - lane(op, args, to): one lane; what compares is as wide as what is compared;
//   - bits(op, a, b, to, count): bytes;
//   - choose(mask, a, b, to, count, width): lanes of so many bytes, a where the mask's top bit is set, or b.
#pragma once

#include "proof/bytes/steps.h"
#include "proof/bytes/word_steps.h"

namespace pooljit::jit::x86 {

// Thrown where code goes on for longer than was allowed.
struct TooManySteps {};

template <class Domain>
class Executor : public WordSteps<Domain> {
 public:
  using Base = WordSteps<Domain>;
  using typename Base::Byte;

  // The code lies in `memory`, from `base` on.
  Executor(const Steps& steps, uint64_t base, Memory<Byte>& memory, Domain& domain)
      : Base(base, memory, domain), steps_(steps) {}

  // From the entry to the return; gives how many instructions that took. Throws Refused and TooManySteps.
  int64_t run(int64_t most_steps) {
    size_t at = steps_.entry();
    int64_t count = 0;
    try {
      for (; steps_[at].kind != CodeStep::Kind::ret; ++count) {
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
  size_t next(const CodeStep& step, size_t at) {
    const Instruction& i = step.instruction;
    switch (step.kind) {
      case CodeStep::Kind::vector:
        this->vector_step(i, *step.row);
        break;
      case CodeStep::Kind::jump:
        return step.target;
      case CodeStep::Kind::branch:
        return this->told(i.info.mnemonic) ? step.target : at + 1;
      case CodeStep::Kind::zero_upper:
        for (size_t v = 0; v < 16; ++v)
          std::fill(this->vectors[v].begin() + 16, this->vectors[v].end(), Byte{});
        break;
      case CodeStep::Kind::word:
        this->word_step(i);
        break;
      case CodeStep::Kind::nothing:
      case CodeStep::Kind::ret:
        break;
    }
    return at + 1;
  }

  const Steps& steps_;
};

}  // namespace pooljit::jit::x86
