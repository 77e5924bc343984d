// This machine, as far as times depend on it: measurements are remembered together with it.
#pragma once

#include <string>

#include "ir/cost.h"

namespace pooljit::runtime {

struct Machine {
  std::string cpu;  // "AMD EPYC (AuthenticAMD 25.17.1)": the brand, and what tells models apart that share it
  ir::Caches caches;  // of the first processor; 0 where the system does not say
};
// Asked of the processor and of /sys once.
const Machine& machine();

// "32K 1024K 32768K": L1, L2 and L3.
std::string print(const ir::Caches& caches);

}  // namespace pooljit::runtime
