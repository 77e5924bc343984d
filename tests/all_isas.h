// The rows of ir/isa.def, for tests of what holds for every instruction set.
#pragma once

#include "ir/isa.h"

namespace pooljit::ir {

inline constexpr Isa all_isas[] = {
#define ISA(name, ...) Isa::name,
#include "ir/isa.def"
#undef ISA
};

}  // namespace pooljit::ir
