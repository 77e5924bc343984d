// Which instruction sets this machine and its operating system can run.
#pragma once

#include <optional>

#include "ir/isa.h"

namespace pooljit::runtime {

// avx2: AVX2, FMA and BMI2; avx512: F, BW, DQ and VL besides; the system saves the registers. The environment
// variable POOLJIT_MAX_ISA (avx2, or none) makes the machine look smaller; it is read once.
bool can_run(ir::Isa isa);

// The last row of ir/isa.def that can be run.
std::optional<ir::Isa> best_isa();

}  // namespace pooljit::runtime
