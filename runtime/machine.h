// This machine, as far as times depend on it. Measurements are stored together with it, and the choice of a
// schedule depends on it.
#pragma once

#include <string>

#include "ir/error.h"
#include "ir/machine.h"

namespace pooljit::runtime {

struct ThisMachine {
  std::string cpu;  // "AMD EPYC (AuthenticAMD 25.17.1)": the brand, and what tells models apart that share it
  // Of the first processor: as the system tells, else cpuid, else what is known of such a processor.
  ir::Caches caches;
  std::string caches_source;  // who told: "the system", "cpuid", "the system and cpuid", "nothing"
  ir::Machine row;            // what the choice of a schedule depends on
};
// Asked of the processor and of /sys once. The environment variable POOLJIT_MACHINE=NAME, a text of
// ir/machine.def, takes that row and its caches instead: for tests, and to see what another machine's default
// would be.
const ThisMachine& machine();

// Fails with "runtime.machine" if POOLJIT_MACHINE names no row.
ir::Result<void> check_machine();

// "32K 1024K 32768K": L1, L2 and L3.
std::string print(const ir::Caches& caches);

}  // namespace pooljit::runtime
