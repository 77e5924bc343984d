// The data caches of a processor, as the system or the processor itself reports them. Virtual machines hide
// one report or both; a level that neither reports is 0.
#pragma once

#include <functional>
#include <string>

#include "ir/machine.h"

namespace pooljit::runtime {

// The words of a leaf of the cpuid instruction; zeros where the processor has no such leaf.
struct CpuidWords {
  unsigned a = 0, b = 0, c = 0, d = 0;
};
using Cpuid = std::function<CpuidWords(unsigned leaf, unsigned subleaf)>;
// This processor's.
CpuidWords cpuid(unsigned leaf, unsigned subleaf = 0);

// From a folder like /sys/devices/system/cpu/cpu0/cache.
ir::Caches caches_of_folder(const std::string& folder);
// From leaf 4 (Intel) and 0x8000001d (AMD), else from 0x80000005 and 0x80000006.
ir::Caches caches_of_cpuid(const Cpuid& ask);

struct FoundCaches {
  ir::Caches caches;
  std::string source;  // for people: "the system", "cpuid", "the system and cpuid", "nothing"
};
// The folder first; cpuid for the levels that it does not tell of.
FoundCaches find_caches(const std::string& folder, const Cpuid& ask);

}  // namespace pooljit::runtime
