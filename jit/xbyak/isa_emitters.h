// The emitter of each ISA. To add one: a function here and a file beside this one.
#pragma once

#include <memory>

#include "jit/xbyak/emitter.h"

namespace pooljit::jit {

std::unique_ptr<Emitter> make_avx2_emitter(const ir::Program& program, const RegisterMap& map,
                                           Assembler& assembler, const uint8_t* pool);
std::unique_ptr<Emitter> make_avx512_emitter(const ir::Program& program, const RegisterMap& map,
                                             Assembler& assembler, const uint8_t* pool);

}  // namespace pooljit::jit
