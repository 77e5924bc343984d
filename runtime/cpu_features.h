// Which instruction sets this machine and its operating system can run.
#pragma once

#include <optional>

#include "ir/error.h"
#include "ir/isa.h"
#include "runtime/cpu_caches.h"

namespace pooljit::runtime {

// A processor: its cpuid instruction, and which registers the system saves (XCR0; 0 where it saves none).
struct Processor {
  Cpuid ask;
  uint32_t saved_registers = 0;
};
// Whether it has all that ir/cpu_features.def promises for the ISA, and the system saves its registers.
bool has(const Processor& processor, ir::Isa isa);

// Of this processor. The environment variable POOLJIT_MAX_ISA (avx2, or none) makes the machine look smaller;
// it is read once. Thread-safe.
bool can_run(ir::Isa isa);

// Errors: "runtime.max_isa" where the variable names none of them; no ISA can be run then.
ir::Result<void> check_isa_limit();

// The last row of ir/isa.def that can be run.
std::optional<ir::Isa> best_isa();

}  // namespace pooljit::runtime
