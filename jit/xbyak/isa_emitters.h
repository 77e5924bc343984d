// The emitter of each ISA. To add one: a function here and a file beside this one.
#pragma once

#include <memory>

#include "jit/xbyak/emitter.h"

namespace pooljit::jit {

// The quiet, ordered form of each predicate (`ne` and `un` hold on NaN).
constexpr uint8_t float_predicate(ir::Predicate pred) {
  constexpr uint8_t by_predicate[] = {0x00, 0x04, 0x11, 0x12, 0x1e, 0x1d, 0x03};
  return by_predicate[static_cast<int>(pred)];
}

std::unique_ptr<Emitter> make_avx2_emitter(const ir::Program& program, const RegisterMap& map,
                                           Assembler& assembler);
std::unique_ptr<Emitter> make_avx512_emitter(const ir::Program& program, const RegisterMap& map,
                                             Assembler& assembler);

}  // namespace pooljit::jit
