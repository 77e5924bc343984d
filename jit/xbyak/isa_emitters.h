// The emitter of each row of ir/isa.def. To add one: a file beside this one that defines its function.
#pragma once

#include <memory>

#include "jit/xbyak/emitter.h"

namespace pooljit::jit {

// The quiet, ordered form of each predicate (`ne` and `un` hold on NaN).
constexpr uint8_t float_predicate(ir::Predicate pred) {
  constexpr uint8_t by_predicate[] = {0x00, 0x04, 0x11, 0x12, 0x1e, 0x1d, 0x03};
  return by_predicate[static_cast<int>(pred)];
}

#define ISA(name, ...)                                                                               \
  std::unique_ptr<Emitter> make_##name##_emitter(const ir::Program& program, const RegisterMap& map, \
                                                 Assembler& assembler);
#include "ir/isa.def"
#undef ISA

}  // namespace pooljit::jit
